"""Outcomes, against all subsets of texts whose every subset is known."""

import random
from functools import cache
from itertools import accumulate, combinations
from math import comb, nan

import numpy as np
import pytest
import torch

from heedful.attribution.subset_reader import SubsetReader
from heedful.data.batching import collate, encode_split
from heedful.measures.outcome import (
    TextToJudge,
    effect_of,
    judge_texts,
    outcome_of,
    reason_of,
    shown_count,
    top_words,
)
from heedful.models.trace import trace
from heedful.settings import OutcomeSettings
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train
from heedful.types import Batch, Dataset, Example
from support.custom_models import BagOfWords
from support.runs import changed

DEFAULT, SEARCH = OutcomeSettings(), OutcomeSettings(all_sets=0)


def table(n, seed, weights=None):
    """p_1 of every subset of n words: words that add up, and pairs that interact."""
    generator = np.random.default_rng(seed)
    weights = generator.normal(size=n) if weights is None else weights
    pairs = generator.normal(size=(n, n)) * 0.5
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return 1 / (1 + np.exp(-(bits @ weights + np.einsum("si,ij,sj->s", bits, pairs, bits))))


def reader(tables):
    """Reads sets of words from tables of all subsets, and counts them."""
    counts = dict.fromkeys(tables, 0)

    def read(requests):
        answers = {}
        for number, sets in requests.items():
            counts[number] += len(sets)
            p = tables[number][sets @ (1 << np.arange(sets.shape[1]))]
            answers[number] = np.stack([1 - p, p], 1)
        return answers

    return read, counts


def to_judge(p, attention, seed=0, **more):
    whole = np.array([1 - p[-1], p[-1]])
    return TextToJudge(whole=whole, scores={"attention": attention}, seed=(seed,), **more)


def exact(p, k, weight=2 / 3):
    """Effects of all sets of k words, straight from the definition."""
    n, predicted = int(np.log2(len(p))), p[-1] >= 0.5
    of = p if predicted else 1 - p
    everything = 2**n - 1
    effects = {}
    for words in combinations(range(n), k):
        mask = sum(1 << word for word in words)
        effects[words] = weight * of[mask] + (1 - weight) * (1 - of[everything ^ mask])
    return effects


@pytest.mark.parametrize("n", [2, 3, 4, 7, 10])
def test_enumeration_gives_chance_best_luck_and_outcome_of_all_subsets(n):
    for seed in range(10):
        p, attention = table(n, seed), np.random.default_rng(seed + 100).random(n)
        judged = judge_texts({0: to_judge(p, attention)}, reader({0: p})[0], DEFAULT)[0]
        k = shown_count(n)
        effects = exact(p, k)
        chance, best = np.mean(list(effects.values())), max(effects.values())
        top = tuple(sorted(np.argsort(-attention)[:k].tolist()))
        assert judged.is_exact
        assert judged.chance == pytest.approx(chance) and judged.best == pytest.approx(best)
        assert effects[judged.key.words] == pytest.approx(best)
        assert judged.tops["attention"].words == top
        assert judged.tops["attention"].effect == pytest.approx(effects[top])
        is_decided = best - chance >= 0.15
        expected = (
            "no_small_set" if not is_decided else "points" if effects[top] - chance >= (best - chance) / 2 else "misses"
        )
        assert judged.outcomes["attention"] == expected
        pointing = [effect - chance >= (best - chance) / 2 - 1e-6 for effect in effects.values()]
        assert judged.luck == pytest.approx(np.mean(pointing) if is_decided else 0.0)


def search_quality(swaps):
    ways, errors, agree, decided = [], [], 0, 0
    settings = OutcomeSettings(all_sets=0, swaps=swaps)
    for seed in range(60):
        n = 9 + seed % 2
        p, attention = table(n, seed), np.random.default_rng(seed).random(n)
        full = judge_texts({0: to_judge(p, attention)}, reader({0: p})[0], DEFAULT)[0]
        quick = judge_texts({0: to_judge(p, attention)}, reader({0: p})[0], settings)[0]
        assert not quick.is_exact and quick.best <= full.best + 1e-12
        errors.append(quick.chance - full.chance)
        agree += quick.outcomes["attention"] == full.outcomes["attention"]
        decided += 1
        if full.best - full.chance >= 0.15:
            ways.append((quick.best - full.chance) / (full.best - full.chance))
    return np.mean(ways), np.sqrt(np.mean(np.square(errors))), agree / decided


def test_the_search_gets_near_the_exact_best():
    way, error, agreement = search_quality(1.0)
    assert way >= 0.95 and error <= 0.04 and agreement >= 0.9
    assert search_quality(2.0)[0] >= max(0.98, way)


def test_the_search_keeps_its_budget():
    n = 20
    weights = np.linspace(-1, 1, n)
    p = table(n, 0, weights)
    read, counts = reader({0: p})
    judged = judge_texts({0: to_judge(p, np.arange(n, dtype=float))}, read, SEARCH)[0]
    assert sum(judged.sets.values()) == counts[0]
    assert judged.sets["singles"] == 2 * n and judged.sets["random"] <= 20 and judged.sets["swaps"] <= 2 * n


def test_the_search_finds_the_deciding_pair_in_200_words():
    def read(requests):
        answers = {}
        for number, sets in requests.items():
            p = np.where(sets[:, 17] & sets[:, 120], 0.95, 0.5)
            answers[number] = np.stack([p, 1 - p], 1)
        return answers

    text = TextToJudge(whole=np.array([0.95, 0.05]), scores={"attention": np.ones(200)}, seed=(1,))
    judged = judge_texts({0: text}, read, DEFAULT)[0]
    assert {17, 120} <= {*judged.key.words}
    assert judged.best == pytest.approx((2 * 0.95 + 0.5) / 3)


def test_texts_do_not_influence_each_other():
    tables = {number: table(5 + number, number) for number in range(4)}
    texts = {number: to_judge(p, np.arange(5.0 + number), number) for number, p in tables.items()}
    together = judge_texts(texts, reader(tables)[0], SEARCH)
    for number, text in texts.items():
        assert judge_texts({number: text}, reader(tables)[0], SEARCH)[number] == together[number]


def test_uniform_attention_is_no_better_than_luck():
    points, luck = [], []
    for seed in range(300):
        p = table(8, seed)
        judged = judge_texts({0: to_judge(p, np.ones(8), seed)}, reader({0: p})[0], DEFAULT)[0]
        if judged.reason is None:
            points.append(judged.outcomes["attention"] == "points")
            luck.append(judged.luck)
    error = np.sqrt(0.25 / len(points))
    assert abs(np.mean(points) - np.mean(luck)) < 3 * error


def test_deletions_that_were_read_are_not_read_again():
    p = table(8, 0)
    read, counts = reader({0: p})
    without = np.stack([1 - p[255 - (1 << np.arange(8))], p[255 - (1 << np.arange(8))]], 1)
    given = judge_texts({0: to_judge(p, np.arange(8.0), without=without)}, read, DEFAULT)[0]
    again, all_counts = reader({0: p})
    assert given == judge_texts({0: to_judge(p, np.arange(8.0))}, again, DEFAULT)[0]
    assert counts[0] == all_counts[0] - 8


def test_an_undefined_probability_leaves_the_text_out():
    p = table(6, 0)
    p[3] = nan
    assert judge_texts({0: to_judge(p, np.arange(6.0))}, reader({0: p})[0], DEFAULT) == {}


def test_a_ranking_without_scores_has_no_outcome():
    p = table(6, 0)
    text = to_judge(p, np.arange(6.0))
    text = TextToJudge(text.whole, {**text.scores, "lime": np.full(6, nan)}, (0,))
    judged = judge_texts({0: text}, reader({0: p})[0], DEFAULT)[0]
    assert "lime" not in judged.outcomes and {"attention", "leave_one_out", "alone", "effect"} <= {*judged.outcomes}


def test_thresholds_are_met_within_rounding():
    assert outcome_of(0.5, 0.35, 0.5 - 5e-7, DEFAULT) == "points"
    assert outcome_of(0.5, 0.35, 0.5 - 2e-6, DEFAULT) == "no_small_set"


def test_reasons():
    assert reason_of(0.7, 0.9, 0.9, DEFAULT) == "many words"
    assert reason_of(0.8, 0.75, 0.9, DEFAULT) == "default"
    assert reason_of(0.8, 0.5, 0.9, DEFAULT) == "any words"
    assert reason_of(0.8, nan, 0.9, DEFAULT) == "default or any words"


def test_alone_weight_moves_the_effect():
    assert effect_of(np.array([0.9]), np.array([0.9]), 0.5) == pytest.approx(0.5)
    assert effect_of(np.array([0.9]), np.array([0.9]), 1.0) == pytest.approx(0.9)


def test_a_tenth_of_thirty_words_is_three():
    assert [shown_count(n) for n in (30, 31, 50, 51)] == [3, 4, 5, 5]
    assert comb(12, shown_count(12)) == DEFAULT.all_sets


@pytest.mark.parametrize("more", [-1, 1])
def test_k_can_be_one_smaller_or_larger_within_the_text(more):
    assert [shown_count(n, more=more) for n in (2, 3, 4, 21)] == {-1: [1, 1, 1, 2], 1: [1, 2, 3, 4]}[more]
    p = table(8, 3)
    judged = judge_texts({0: to_judge(p, np.arange(8.0))}, reader({0: p})[0], DEFAULT, more)[0]
    effects = exact(p, 2 + more)
    assert judged.best == pytest.approx(max(effects.values())) and len(judged.tops["attention"].words) == 2 + more
    assert judged.chance == pytest.approx(np.mean(list(effects.values())))


def test_another_weight_takes_the_sets_that_were_read():
    p, halved = table(9, 5), OutcomeSettings(all_sets=0, swaps=0.0, alone_weight=0.5)
    judged = judge_texts({0: to_judge(p, np.arange(9.0))}, reader({0: p})[0], SEARCH)[0]
    rescored = judge_texts({0: to_judge(p, np.arange(9.0), extra=judged.evaluated)}, reader({0: p})[0], halved)[0]
    effects = exact(p, 2, 0.5)
    assert len(judged.evaluated) > 10 and {*rescored.evaluated} >= {*judged.evaluated}
    assert rescored.best == pytest.approx(max(effects[words] for words in rescored.evaluated))


def test_ties_follow_the_given_order():
    order = np.array([2, 0, 1])
    assert top_words(np.array([1.0, 1.0, 1.0]), 1, order) == (2,)
    assert top_words(np.array([1.0, 1.0 + 1e-8, 0.5]), 1, order) == (0,)


def world_of_pairs(n, seed):
    """Words whose log odds add up, among them three pairs that interact: weights, the pairs' words, and p_y of sets."""
    generator = np.random.default_rng(seed)
    weights, bonus = generator.normal(size=n) * 0.5, generator.normal(size=3) * 4
    words = generator.choice(n, (3, 2), replace=False)

    def log_odds(sets):
        return sets @ weights + sets[:, words].all(2) @ bonus - 3

    sign = 1 if log_odds(np.ones((1, n), dtype=bool))[0] > 0 else -1
    return sign * weights, words.ravel().tolist(), lambda sets: 1 / (1 + np.exp(-sign * log_odds(sets)))


def masks(sets, n):
    return np.array([[word in words for word in range(n)] for words in sets])


def way_to_known_best(n, seed, settings):
    """How far the search gets from chance to the best; NaN if no small set decides."""
    weights, paired, p = world_of_pairs(n, seed)
    k, others = shown_count(n), [word for word in np.argsort(-weights).tolist() if word not in paired]
    # Whatever is chosen of the pairs, the rest of the best set are the others with the largest weights.
    some = [words for count in range(k + 1) for words in combinations(paired, count)]
    candidates = masks([{*words, *others[: k - len(words)]} for words in some], n)
    drawn = masks([np.random.default_rng(i).choice(n, k, replace=False).tolist() for i in range(500)], n)
    best, chance = effect_of(p(candidates), p(~candidates)).max(), effect_of(p(drawn), p(~drawn)).mean()
    whole = p(np.ones((1, n), dtype=bool))[0]
    text = TextToJudge(np.array([whole, 1 - whole]), {"attention": np.random.default_rng(seed).random(n)}, (seed,))
    found = judge_texts({0: text}, lambda requests: {0: np.stack([p(requests[0]), 1 - p(requests[0])], 1)}, settings)[0]
    assert found.best <= best + 1e-9
    return (found.best - chance) / (best - chance) if best - chance >= 0.15 else nan


@pytest.mark.parametrize("n", [50, 200])
def test_the_search_gets_near_the_known_best_of_long_texts(n):
    none, default = (
        np.nanmean([way_to_known_best(n, seed, OutcomeSettings(swaps=swaps)) for seed in range(15)]) for swaps in (0, 1)
    )
    assert none < default and default >= 0.95


# Outcomes of models of every kind, against plain loops over all sets of words, each read as a text of its own.


POLAR = (("bad", "poor", "dull"), ("good", "fine", "bright"))
FILLERS = ("the", "a", "film", "plot", "was", "is", "so", "and", "it", "that", "which", "here", "then", "again", "once")
LENGTHS = (2, 3, 4, 6, 8, 10)
RUNS = {
    "average": {},
    "lstm": {"text__start_end": True},
    "bilstm": {"network__head": "tanh"},
    "cnn": {},
    "hierarchical": {},
}
"""Settings of the runs of each encoder."""


def draw_texts(count, lengths, seed):
    """Texts of different words; of one or two polar words the first is the label."""
    draw = random.Random(seed)
    for number in range(count):
        length, polar = lengths[number % len(lengths)], draw.sample(POLAR[0] + POLAR[1], 1 + number % 2)
        words = draw.sample([*polar, *draw.sample(FILLERS, length - len(polar))], length)
        yield words, int(next(word for word in words if word in polar) in POLAR[1])


def example_of(items, label=0):
    """A text of items of one word each; or of several, which are sentences."""
    starts = (0, *accumulate(map(len, items)))[:-1]
    return Example(tuple(word for item in items for word in item), label, sentences=starts)


def trained_model(encoder):
    """A model after a few epochs, texts as lists of items, and how to read texts."""
    size = 2 if encoder == "hierarchical" else 1
    items = [
        (label, [words[start : start + size] for start in range(0, len(words), size)])
        for words, label in draw_texts(132, [size * length for length in LENGTHS if size * length < 17], 0)
    ]
    examples = [example_of(text, label) for label, text in items]
    parts = map(tuple, (examples[:96], examples[96:120], examples[120:]))
    data = Dataset("polar", "f", "classification", ("bad", "good"), *parts)
    trained = train(changed(network__encoder=encoder, network__activation="tanh", **RUNS[encoder]), data)
    model = float64_eval_copy(trained.model)

    def read(texts):
        split = encode_split([example_of(text) for text in texts], trained.words)
        return trace(model, collate(split, range(len(texts))))

    return model, [text for _, text in items[120:]], read, lambda text: read([text]).logits[0]


def custom_model(_):
    """A model of the user's own, which Heedful knows only as four functions."""
    model = BagOfWords(vocabulary=30, size=6, scale=1.0).double()

    def read(texts):
        tokens = torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        index = torch.arange(len(texts))
        return trace(model, Batch(index, tokens, tokens > 0, tokens > 0, torch.zeros_like(index)))

    draw = random.Random(0)
    texts = [draw.sample(range(1, 30), length) for length in LENGTHS * 2]
    return model, texts, read, lambda text: read([text]).logits[0]


def transformer(name):
    """A tiny classifier with random weights; some words are several tokens. Single texts are read without Heedful."""
    from support.tiny_transformers import tiny_batch, tiny_model, tiny_module, tokenizer_of

    model, module, tokenizer, draw = tiny_model(name), tiny_module(name), tokenizer_of(name), random.Random(0)
    words = ["the", "film", "is", "unlikely", "good", "bad", "goodish", "plot", "and", "not", "a"]

    def read(texts):
        return trace(model, tiny_batch(model, [" ".join(text) for text in texts]))

    def logits(text):
        return module(**tokenizer(" ".join(text), return_tensors="pt")).logits[0]

    return model, [draw.sample(words, length) for length in LENGTHS], read, logits


KINDS = {name: trained_model for name in RUNS} | {"custom": custom_model, "bert": transformer, "gpt2": transformer}


def by_loops(text, logits):
    """Effect of each set of k items, and scores of single items: one text at a time."""
    n, y = len(text), int(logits(text).argmax())

    @cache
    def p(*items):
        return float(logits([text[item] for item in items]).softmax(-1)[y])

    def without(*items):
        return p(*(item for item in range(n) if item not in items))

    def effect(*items):
        return (2 * p(*items) + 1 - without(*items)) / 3

    scores = {"alone": map(p, range(n)), "leave_one_out": (-without(item) for item in range(n))}
    scores["effect"] = map(effect, range(n))
    effects = {items: effect(*items) for items in combinations(range(n), 1 if n < 4 else 2)}
    return effects, {name: list(values) for name, values in scores.items()}


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_are_those_of_all_sets(kind):
    with torch.enable_grad():
        model, texts, read, logits = KINDS[kind](kind)
    seen = read(texts)
    given = {
        row: TextToJudge(
            whole=seen.logits[row].softmax(-1).numpy(),
            scores={"attention": seen.attention[row, items].numpy()},
            seed=(row,),
        )
        for row, items in enumerate(seen.encoded.items)
    }
    judged = judge_texts(given, SubsetReader(model, seen).probabilities, OutcomeSettings())
    outcomes = []
    for row, number in enumerate(seen.batch.index.tolist()):
        effects, scores = by_loops(texts[number], logits)
        scores["attention"] = given[row].scores["attention"].tolist()
        chance, best = np.mean([*effects.values()]), max(effects.values())
        pointing = {items: best - chance >= 0.15 and e - chance >= (best - chance) / 2 for items, e in effects.items()}
        own = judged[row]
        assert own.is_exact and own.chance == pytest.approx(chance, abs=1e-9)
        assert own.best == pytest.approx(best, abs=1e-9) == effects[own.key.words]
        assert own.luck == pytest.approx(np.mean([*pointing.values()]))
        for ranking, values in scores.items():
            top = tuple(sorted(sorted(range(len(values)), key=lambda item, by=values: -by[item])[: len(own.key.words)]))
            outcome = "no_small_set" if best - chance < 0.15 else "points" if pointing[top] else "misses"
            assert own.tops[ranking].words == top and own.outcomes[ranking] == outcome
        outcomes.append(own.outcomes["attention"])
    assert len({*outcomes}) > 1
