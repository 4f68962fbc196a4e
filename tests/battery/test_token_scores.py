import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.battery.token_scores import token_scores
from heedful.models.trace import trace
from heedful.types import Batch
from support.evidence import make_context
from support.models import VOCABULARY, give_attention, make, make_batch

LABELS = ("bad", "good")
BAD, GOOD, NEUTRAL, OTHER = 4, 5, (6, 7), 8
"""Tokens by what they indicate."""


def context(labels=LABELS) -> Context:
    counts = torch.zeros(VOCABULARY, len(labels), dtype=torch.long)
    counts[BAD, 0] = counts[GOOD, 1] = 9
    counts[list(NEUTRAL)] = 9
    return Context(labels=labels, token_counts=lambda: counts)


def values_of(tokens, attention, labels=LABELS, model=None) -> dict[str, float]:
    """What the test measures of one text with that attention."""
    tokens, imposed = torch.tensor([tokens]), torch.tensor([attention], dtype=torch.float64)
    everything = torch.ones_like(tokens, dtype=torch.bool)
    batch = Batch(torch.tensor([0]), tokens, everything, everything, torch.tensor([1]), imposed_attention=imposed)
    model = model or make(encoder="identity", attention="frozen")
    with torch.no_grad():
        evidence = Evidence(model, trace(model, batch), context(labels))
        values = token_scores(evidence, torch.Generator()).values
    return {name: value.item() for name, value in values.items()}


def test_pairs_and_shares_by_hand():
    values = values_of([BAD, GOOD, *NEUTRAL, OTHER], [0.3, 0.1, 0.2, 0.1, 0.3])
    assert values["polar_above_neutral"] == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert values["weight_polar"] == pytest.approx(5 * 0.2)
    assert values["weight_neutral"] == pytest.approx(5 * 0.15)
    assert (values["weight[bad]"], values["weight[good]"]) == (pytest.approx(1.5), pytest.approx(0.5))


@pytest.mark.parametrize(("bias", "own"), [(-9.0, (1 + 1) / 2), (9.0, (0 + 0.5) / 2)])
def test_the_words_of_the_predicted_label_are_compared_alone(bias, own):
    """The head's bias decides for "bad" or for "good": of .3 and .1 each is above the neutral .2 and .1, or not."""
    model = make(encoder="identity", attention="frozen")
    with torch.no_grad():
        model.get_parameter("head.linear.bias").fill_(bias)
    values = values_of([BAD, GOOD, *NEUTRAL, OTHER], [0.3, 0.1, 0.2, 0.1, 0.3], model=model)
    assert values["own_above_neutral"] == pytest.approx(own)
    assert values["polar_above_neutral"] == pytest.approx((1 + 1 + 0 + 0.5) / 4)


def test_without_a_pair_there_is_no_value():
    values = values_of([BAD, BAD, OTHER], [0.5, 0.25, 0.25])
    assert values["polar_above_neutral"] != values["polar_above_neutral"]
    assert values["weight_neutral"] != values["weight_neutral"]
    assert values["weight[bad]"] == pytest.approx(3 * 0.375)


def test_the_words_are_counted_once_for_all_batches():
    calls = []
    shared = Context(labels=LABELS, token_counts=lambda: calls.append(1) or context().token_counts())
    model = make()
    with torch.no_grad():
        for _ in range(3):
            token_scores(Evidence(model, trace(model, make_batch()), shared), torch.Generator())
    assert calls == [1]


def test_nothing_is_measured_of_words_where_sentences_are_weighed():
    model = make(encoder="hierarchical")
    with torch.no_grad():
        evidence = Evidence(model, trace(model, give_attention(make_batch(), hierarchical=True)), make_context())
        values = token_scores(evidence, torch.Generator()).values
    assert all(value.isnan().all() for value in values.values())
