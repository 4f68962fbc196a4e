"""Outcomes of models of every kind, against plain loops over all sets of words, each read as a text of its own."""

import random
from functools import cache
from itertools import accumulate, combinations

import numpy as np
import pytest
import torch

from heedful.attribution.subset_reader import SubsetReader
from heedful.data.batching import collate, encode_split
from heedful.measures.outcome import TextToJudge, judge_texts
from heedful.models.trace import trace
from heedful.settings.run_and_audit import OutcomeSettings
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train
from heedful.types import Batch, Dataset, Example
from support.custom_models import BagOfWords
from support.runs import changed

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
