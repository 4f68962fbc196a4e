"""Worlds: what their models say, and which texts they draw."""

import numpy as np
import pytest

from heedful.calibration.worlds import HALF, ON, RANDOM, REVERSED, WORLDS, draw_texts, judge
from heedful.settings import OutcomeSettings

ONE, MOVES = "one word decides", "the state at j carries word i"


def test_texts_depend_on_the_seed_alone_and_have_the_special_words_of_their_world():
    for world in WORLDS.values():
        texts, again, other = (draw_texts(world, 40, seed) for seed in (3, 3, 4))
        assert all(np.array_equal(one, two) for one, two in zip(texts.noise, again.noise, strict=True))
        assert not np.array_equal(texts.noise[0], other.noise[0])
        for special, noise in zip(texts.special, texts.noise, strict=True):
            assert len({*special.tolist()}) == world.special and len(noise) in world.lengths
        assert texts.labels.mean() == 0.5


PREDICTED = [
    (ONE, [1], 0.95),
    (ONE, [0], 0.5),
    ("two words decide together", [1, 0], 0.5),
    ("two words decide together", [1, 1], 0.95),
    ("three words, each enough", [0, 0, 1], 0.95),
    ("one word supports, a weaker one opposes", [1, 1], 0.85),
    ("one word supports, a weaker one opposes", [1, 0], 0.95),
    ("one word supports, a weaker one opposes", [0, 1], 0.3),
    ("one word supports, a weaker one opposes", [0, 0], 0.5),
    (MOVES, [1, 0], 0.95),
    (MOVES, [0, 1], 0.5),
]


def test_what_models_of_every_world_predict():
    for name, left, expected in PREDICTED:
        p = WORLDS[name].model(np.array([left], dtype=bool), np.array([0.5]), np.array([0]))
        assert p.item() == pytest.approx(expected), (name, left)
    left, labels = np.array([[True], [False], [False]]), np.array([0, 0, 1])
    p = WORLDS["class 1 is the default"].model(left, np.ones(3), labels)
    assert p == pytest.approx([0.95, 0.05, 0.95])
    p = WORLDS["many weak words"].model(np.zeros((3, 0), dtype=bool), np.array([0.0, 0.1, 1.0]), np.zeros(3, int))
    assert p == pytest.approx([0.5, 1 / (1 + np.exp(-0.294)), 0.95], abs=1e-3)


def test_short_texts_have_the_luck_that_their_world_names():
    for name in ("0.35", "0.45", "0.2"):
        world = WORLDS[f"{ONE}, luck {name}"]
        judged = judge(world, draw_texts(world, 200, 0), OutcomeSettings())
        assert judged[ON].luck.mean() == pytest.approx(float(name), abs=0.02)
        assert np.all(judged[ON].points == 1) and np.all(judged[REVERSED].points == 0)


def test_attention_is_what_its_name_says():
    texts = draw_texts(WORLDS["10 of 100 words, each enough"], 4, 0)
    special, noise = texts.special[0], texts.noise[0]
    scores = {
        name: attend(special, noise) for name, attend in WORLDS["10 of 100 words, each enough"].attentions.items()
    }
    assert {*np.argsort(-scores[HALF])[:5].tolist()} == {*special[:5].tolist()}
    assert np.array_equal(scores[RANDOM], noise)
    one = WORLDS[ONE].attentions
    assert one[ON](special, noise).argmax() == special[0] == one[REVERSED](special, noise).argmin()
    assert one["on the first word"](special, noise).argmax() == 0 and np.ptp(one["uniform"](special, noise)) == 0


def test_information_has_moved_where_the_states_say_what_the_words_do_not():
    world = WORLDS[MOVES]
    judged = judge(world, draw_texts(world, 60, 0), OutcomeSettings())
    assert judged["on j"].moved.mean() > 0.8 and judged["on i"].moved.mean() == 0
    assert judged["on j"].points.mean() < 0.2 and judged["on i"].points.mean() == 1
    # Attention that also has the word i among its top words shows what decides: nothing has moved.
    assert np.all(judged["on j"].moved + judged["on j"].points == 1)
