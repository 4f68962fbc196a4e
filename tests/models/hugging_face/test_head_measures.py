import pytest
import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.measures import kendall_tau, total_variation_distance
from heedful.models.hugging_face.head_measures import (
    DESCRIPTIONS,
    HeadMeasures,
    best_head,
    head_measures,
)
from support.tiny_transformers import TEXTS, tiny_model, tiny_trace

NAMES = ("bert", "gpt2", "modernbert", "bart")


def measures(name):
    model, seen = tiny_model(name), tiny_trace(name)
    return head_measures(model, seen, leave_one_out(model, seen))


@pytest.mark.parametrize("name", NAMES)
def test_each_head_is_what_its_own_site_says(name):
    of_heads, whole = measures(name), tiny_trace(name)
    layers = tiny_model(name).classifier.anatomy.layers
    assert of_heads.agreement.shape == (layers, 2, len(TEXTS))
    deleted = leave_one_out(tiny_model(name), whole)
    moved = total_variation_distance(deleted.softmax(-1), whole.logits.softmax(-1)[:, None].expand_as(deleted))
    for layer in range(layers):
        for head in range(2):
            site = f"head:{layer}.{head}"
            model, seen = tiny_model(name, site=site), tiny_trace(name, site=site)
            items = seen.encoded.items
            tau, _ = kendall_tau(seen.attention, moved.where(items, 0.0), items)
            torch.testing.assert_close(of_heads.agreement[layer, head], tau)
            top = seen.attention.argmax(1, keepdim=True)
            torch.testing.assert_close(of_heads.deletion_moves[layer, head], moved.gather(1, top)[:, 0])
            kept = seen.attention.scatter(1, top, 0.0)
            erased = model.decode(seen.encoded, kept / kept.sum(1, keepdim=True))
            even = model.impose_each(seen.encoded, (items / items.sum(1, keepdim=True)).double()[:, None])[:, 0]
            for kind, logits in (("erasing", erased), ("uniform", even)):
                expected = total_variation_distance(logits.softmax(-1), whole.logits.softmax(-1))
                torch.testing.assert_close(getattr(of_heads, f"{kind}_moves")[layer, head], expected)
                flips = (logits.argmax(-1) != whole.logits.argmax(-1)).double()
                torch.testing.assert_close(getattr(of_heads, f"{kind}_flips")[layer, head], flips)


def test_the_mean_over_heads_is_beside_them():
    seen, model = tiny_trace("bert"), tiny_model("bert")
    deleted = leave_one_out(model, seen)
    moved = total_variation_distance(deleted.softmax(-1), seen.logits.softmax(-1)[:, None].expand_as(deleted))
    items = seen.encoded.items
    expected, _ = kendall_tau(seen.attention, moved.where(items, 0.0), items)
    torch.testing.assert_close(measures("bert").mean_agreement, expected)


def made(agreement, mean):
    agreement = torch.tensor(agreement, dtype=torch.float64)
    more = {name: torch.zeros_like(agreement) for name in DESCRIPTIONS if name != "agreement"}
    return HeadMeasures(agreement=agreement, **more, mean_agreement=torch.tensor(mean, dtype=torch.float64))


def test_the_best_head_is_chosen_on_some_texts_and_reported_on_others():
    nan = float("nan")
    dev = made([[[0.1, 0.2, nan], [0.9, 0.5, 0.7]], [[0.8, 0.2, 0.0], [nan, nan, nan]]], [0.0, 0.0, 0.0])
    test = made([[[0.9] * 4, [0.2, 0.4, 0.6, nan]], [[0.9] * 4, [0.9] * 4]], [0.1, 0.1, 0.3, 0.2])
    best = best_head(dev, test)
    assert (best.layer, best.head, best.site) == (0, 1, "head:0.1")
    assert best.agreement.value == pytest.approx(0.4)
    assert best.mean_agreement.value == pytest.approx(0.175)
    assert best.gain.value == pytest.approx(0.7 / 3) and best.gain.n == 3
