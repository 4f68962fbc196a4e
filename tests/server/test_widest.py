"""The most that any attention can move the prediction."""

import pytest
import torch

from heedful.measures import total_variation


def drawn_moves(case) -> torch.Tensor:
    """How far many random attentions, sharp and flat, move the prediction."""
    evidence = case.evidence()
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(500, int(evidence.items.sum()), generator=generator, dtype=torch.float64)
    sharp = (drawn * 20 * torch.rand(500, 1, generator=generator, dtype=torch.float64)).softmax(-1)
    weights = torch.zeros(1, 500, evidence.items.shape[1], dtype=torch.float64)
    weights[0][:, evidence.items[0]] = sharp
    predictions = evidence.decode_each(weights)[0].softmax(-1)
    return total_variation(predictions, evidence.probabilities.expand_as(predictions))


@pytest.mark.parametrize("name", ["average", "bilstm", "framed", "nli", "hierarchical"])
def test_no_attention_moves_a_prediction_of_two_classes_further(model, post, name):
    case = model(name)
    widest = post("read", case.request)["widest"]
    assert widest["solver"] == "exact"
    moved = drawn_moves(case).max()
    assert moved <= widest["tvd"] + 1e-12 and moved > 0.5 * widest["tvd"]


def test_the_attention_attains_it(each, post):
    widest = post("read", each.request)["widest"]
    answer = post("decode", {**each.request, "attention": widest["attention"]})
    assert answer["tvd"] == pytest.approx(widest["tvd"], abs=1e-12)


def test_the_badge_says_how_sure_it_is(model, post):
    badges = {name: post("read", model(name).request)["widest"]["solver"] for name in ("average", "three", "tanh")}
    assert badges == {"average": "exact", "three": "bound", "tanh": "search"}
