"""The worlds hold what their descriptions say."""

import pytest
import torch

from heedful.models.trace import trace
from heedful.studies.calibration.suite import WORLDS
from heedful.studies.calibration.worlds import BAG_WORLDS, BagModel

BY_HAND = {world.name: world for world in BAG_WORLDS}


def drawn(name, texts=60):
    return BY_HAND[name].draw(texts, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", BY_HAND)
def test_a_draw_depends_on_its_generator_alone(name):
    first, second = drawn(name, 5), drawn(name, 5)
    assert torch.equal(first.batch.tokens, second.batch.tokens) and torch.equal(first.logits, second.logits)


@pytest.mark.parametrize("name", BY_HAND)
def test_the_prediction_is_the_weighted_sum_of_known_item_logits(name):
    world = drawn(name, 5)
    seen = trace(world.model, world.batch)
    assert torch.allclose((seen.attention[..., None] * world.logits).sum(1), seen.logits)


@pytest.mark.parametrize("name", [name for name, world in BY_HAND.items() if world.is_learnt])
def test_under_uniform_attention_the_words_give_the_label(name):
    world = drawn(name)
    assert (world.decision == world.batch.labels).double().mean() > 0.8


def test_guessing_has_labels_that_nothing_in_the_text_gives():
    world = drawn("guessing", 400)
    assert abs((world.decision == world.batch.labels).double().mean().item() - 0.5) < 0.1


def test_where_attention_is_ignored_every_item_says_the_same():
    world = drawn("ignores attention", 5)
    assert torch.allclose(world.logits, world.logits[:, :1].expand_as(world.logits))


def test_in_context_the_same_word_says_the_opposite_behind_a_negator():
    world = drawn("context")
    assert isinstance(world.model, BagModel)
    before = torch.nn.functional.pad(world.batch.tokens, (1, 0))[:, :-1]
    behind = (before >= world.model.first_negator) & world.batch.mask
    alone = world.model.embedding(world.batch.tokens)
    assert behind.any()
    assert torch.equal(world.logits[behind], alone[behind].flip(-1))
    assert torch.equal(world.logits[~behind & world.batch.mask], alone[~behind & world.batch.mask])


def test_there_are_worlds_of_two_three_and_five_classes_and_with_trained_models():
    assert {world.classes for world in BAG_WORLDS} == {2, 3, 5}
    assert len(WORLDS) > len(BAG_WORLDS)
