import pytest
import torch

from heedful.exact import random_orders
from heedful.models.transformers import prefixes
from heedful.models.transformers.prefixes import first_changes
from support.tiny_transformers import tiny_model, tiny_trace


def one_at_a_time(model, seen, order, row):
    """Erase word by word until the decision changes."""
    decided, weights = seen.logits[row].argmax(), seen.attention.clone()
    for count, word in enumerate(order[: int(seen.encoded.items[row].sum()) - 1].tolist(), start=1):
        weights[row, word] = 0.0
        logits = model.decode(seen.encoded, weights / weights.sum(1, keepdim=True))
        if logits[row].argmax() != decided:
            return count, 1 - float(weights[row].sum())
    return None


@pytest.mark.parametrize("name", ["opt", "modernbert", "xlnet", "t5"])
@pytest.mark.parametrize("block", [1, 3, 100])
def test_the_first_change_is_that_of_erasing_one_at_a_time(name, block, monkeypatch):
    monkeypatch.setattr(prefixes, "BLOCK", block)
    model, seen = tiny_model(name), tiny_trace(name)
    orders = random_orders(seen.encoded.items, torch.Generator().manual_seed(0), 5)
    changes = first_changes(model, seen, orders)
    assert (~changes.count.isnan()).any()
    with torch.no_grad():
        for row in range(len(orders)):
            for ranking in range(5):
                expected = one_at_a_time(model, seen, orders[row, ranking], row)
                if expected is None:
                    assert changes.count[row, ranking].isnan() and changes.mass[row, ranking].isnan()
                else:
                    assert changes.count[row, ranking] == expected[0]
                    assert changes.mass[row, ranking].item() == pytest.approx(expected[1])


def test_no_more_is_evaluated_than_needed():
    seen = tiny_trace("opt")
    orders = random_orders(seen.encoded.items, torch.Generator().manual_seed(0), 20)
    changes = first_changes(tiny_model("opt"), seen, orders)
    prefixes_in_all = 20 * (seen.encoded.items.sum(1) - 1)
    changes_something = (~changes.count.isnan()).any(1)
    assert changes_something.tolist() == [False, True, False]
    assert torch.equal(changes.evaluated < prefixes_in_all, changes_something)
