import pytest
import torch

from heedful.battery import Evidence
from heedful.battery.token_scores import token_scores
from heedful.models.trace import trace
from heedful.token_scores import NEUTRAL, OTHER
from heedful.types import Batch
from support.models import give_attention, make, make_batch

LABELS = ("bad", "good")
CLASSES = torch.tensor([OTHER, OTHER, OTHER, OTHER, 0, 1, NEUTRAL, NEUTRAL, OTHER, OTHER, OTHER])


def found(tokens, attention, classes=CLASSES, labels=LABELS):
    """What the test says of one text with that attention."""
    tokens, given = torch.tensor([tokens]), torch.tensor([attention], dtype=torch.float64)
    everything = torch.ones_like(tokens, dtype=torch.bool)
    batch = Batch(torch.tensor([0]), tokens, everything, everything, torch.tensor([1]), imposed_attention=given)
    model = make(encoder="identity", attention="frozen")
    with torch.no_grad():
        evidence = Evidence(model, trace(model, batch))
        values = token_scores(evidence, torch.Generator(), classes=classes, labels=labels).values
    return {name: value.item() for name, value in values.items()}


def test_pairs_and_shares_by_hand():
    values = found([4, 5, 6, 7, 8], [0.3, 0.1, 0.2, 0.1, 0.3])
    assert values["polar_above_neutral"] == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    assert values["weight_polar"] == pytest.approx(5 * 0.2)
    assert values["weight_neutral"] == pytest.approx(5 * 0.15)
    assert (values["weight[bad]"], values["weight[good]"]) == (pytest.approx(1.5), pytest.approx(0.5))


def test_without_a_pair_there_is_no_value():
    values = found([4, 4, 8], [0.5, 0.25, 0.25])
    assert values["polar_above_neutral"] != values["polar_above_neutral"]
    assert values["weight_neutral"] != values["weight_neutral"]
    assert values["weight[bad]"] == pytest.approx(3 * 0.375)


def test_even_attention_knows_nothing():
    assert found([4, 5, 6, 7], [0.25] * 4)["polar_above_neutral"] == 0.5


def test_many_labels_are_not_told_apart():
    assert set(found([4, 6], [0.5, 0.5], labels=tuple("abcdef"))) == {
        "polar_above_neutral",
        "weight_polar",
        "weight_neutral",
    }


def test_nothing_is_said_of_words_where_sentences_are_weighed():
    model = make(encoder="hierarchical")
    with torch.no_grad():
        evidence = Evidence(model, trace(model, give_attention(make_batch(), hierarchical=True)))
        values = token_scores(evidence, torch.Generator(), classes=CLASSES, labels=LABELS).values
    assert all(value.isnan().all() for value in values.values())
