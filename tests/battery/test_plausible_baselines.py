"""Scores that know nothing of the model."""

from dataclasses import replace
from types import SimpleNamespace

import torch

from heedful.battery import Context, Evidence
from heedful.battery.plausible_baselines import baseline_scores
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of
from support.models import BATCH, LENGTHS, make, make_batch

WORDS = ("<pad>", "<unk>", "<start>", "<end>", "a", "film", "wonderful")
COUNTS = torch.tensor([[0, 0]] * 4 + [[9, 9], [2, 1], [1, 0]])


def scores_of(tokens, context):
    model = Bag(torch.zeros(9).double(), torch.zeros(9).double())
    batch = replace(batch_of(1, len(tokens)), tokens=torch.tensor([tokens]))
    return {
        name: own[0].tolist() for name, own in baseline_scores(Evidence(model, trace(model, batch), context)).items()
    }


def test_by_position_length_and_rarity():
    scores = scores_of([4, 6, 5], Context(vocabulary=WORDS, token_counts=lambda: COUNTS))
    assert scores == {"first": [0, -1, -2], "longest": [1, 9, 4], "rarest": [-18, -1, -3]}


def test_a_word_outside_of_the_vocabulary_is_of_mean_length_and_rarest():
    scores = scores_of([4, 1, 6], Context(vocabulary=WORDS, token_counts=lambda: COUNTS))
    assert scores["longest"] == [1, 5, 9] and scores["rarest"] == [-18, 0, -1]


def test_what_is_not_known_is_undefined():
    scores = scores_of([4, 6], Context())
    assert all(value != value for name in ("longest", "rarest") for value in scores[name])
    nobody = scores_of([1, 1], Context(vocabulary=WORDS, token_counts=lambda: COUNTS))
    assert all(value != value for value in nobody["longest"])
    beyond = scores_of([4, 8], Context(vocabulary=WORDS, token_counts=lambda: COUNTS))
    assert beyond["longest"] == [1, 1] and beyond["rarest"][1] != beyond["rarest"][1]


def test_a_sentence_is_as_long_as_its_words_together_and_as_rare_as_its_rarest():
    model, batch = make("hierarchical"), make_batch()
    words = tuple("x" * (number + 1) for number in range(11))
    counts = torch.arange(1, 12)[:, None].expand(-1, 2)
    context = Context(vocabulary=words, token_counts=lambda: counts)
    scores = baseline_scores(Evidence(model, trace(model, batch), context))
    assert batch.sentence is not None
    for row, length in enumerate(LENGTHS.tolist()):
        sentence, tokens = batch.sentence[row, :length], batch.tokens[row, :length]
        for number in range(int(sentence.max()) + 1):
            own = tokens[sentence == number] + 1
            assert scores["longest"][row, number] == own.sum() and scores["rarest"][row, number] == -2 * own.min()
    assert scores["first"].shape == (BATCH, 3)


def test_words_of_several_tokens_are_looked_up_by_their_own_numbers():
    """Whatever the numbers of their tokens; a word that has none is of mean length, and its rarity is not known."""
    numbers = torch.tensor([[6, 4, -1]])
    words = SimpleNamespace(numbers=lambda batch: numbers, rewritten=len, tokens_of=len)
    context = Context(vocabulary=WORDS, token_counts=lambda: COUNTS, item_words=words)
    scores = scores_of([5, 5, 5], context)
    assert (
        scores["longest"] == [9, 1, 5]
        and scores["rarest"][:2] == [-1, -18]
        and scores["rarest"][2] != scores["rarest"][2]
    )
