"""What the sliders say is what the model says."""

import pytest
import torch

from heedful.measures import js_divergence, total_variation


def weights_of(count: int) -> list[float]:
    drawn = torch.rand(count, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return (drawn / drawn.sum()).tolist()


def test_other_weights_give_what_decode_gives(each, post):
    evidence = each.evidence()
    weights = weights_of(int(evidence.items.sum()))
    answer = post("decode", {**each.request, "attention": weights})
    own = torch.zeros_like(evidence.attention)
    own[evidence.items] = torch.tensor(weights, dtype=own.dtype)
    logits = evidence.decode(own)
    assert answer["logits"] == pytest.approx(logits[0].tolist(), abs=1e-12)
    assert answer["predicted"] == int(logits.argmax())
    assert answer["tvd"] == pytest.approx(float(total_variation(logits.softmax(-1), evidence.probabilities)), abs=1e-12)
    assert answer["jsd"] == pytest.approx(float(js_divergence(own, evidence.attention, evidence.items)), abs=1e-12)
    assert answer["item_logits"] is None


def test_the_own_weights_move_nothing(each, post):
    state = post("read", each.request)
    answer = post("decode", {**each.request, "attention": state["attention"]})
    assert answer["tvd"] == pytest.approx(0, abs=1e-12) and answer["jsd"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("weights, said", [([0.5, 0.5], "has 2"), ([0.5] * 10, "sums to 5")])
def test_weights_of_another_text_are_refused(client, model, weights, said):
    response = client.post("/api/decode", json={**model("average").request, "attention": weights})
    assert response.status_code == 400 and said in response.json()["error"]
