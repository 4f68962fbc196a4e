import pytest
import torch

from heedful.battery.adversarial_attention import draw_start, search_adversary
from heedful.exact import eps_max_js, random_orders
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.hugging_face import same_prediction
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.classifier import load_inspected
from heedful.models.hugging_face.same_prediction import first_changes, most_different
from heedful.models.trace import trace
from support.tiny_transformers import tiny_batch, tiny_model, tiny_module, tiny_trace, tokenizer_of


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
    monkeypatch.setattr(same_prediction, "BLOCK", block)
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


EPS = 0.05


@pytest.fixture(scope="module")
def two_classes():
    model = TransformerModel(load_inspected("gpt2", tiny_module("gpt2", num_labels=2), tokenizer_of("gpt2")))
    with torch.no_grad():
        return model, trace(model, tiny_batch(model))


def check(model, seen, other, eps=EPS):
    """Every witness is what is said of it."""
    attention, items = other.attention, seen.encoded.items
    torch.testing.assert_close(attention.sum(1), torch.ones(len(items), dtype=torch.float64))
    assert not attention[~items].any() and (attention >= 0).all()
    with torch.no_grad():
        decoded = model.impose_each(seen.encoded, attention[:, None])[:, 0].softmax(-1)
    moved = total_variation_distance(decoded, seen.logits.softmax(-1))
    is_found = other.is_found
    torch.testing.assert_close(moved[is_found], other.tvd[is_found])
    assert (moved[is_found] <= eps).all()
    torch.testing.assert_close(js_divergence(attention, seen.attention, items)[is_found], other.js[is_found])
    assert not other.js[~is_found].any() and torch.equal(attention[~is_found], seen.attention[~is_found])


def test_witnesses_hold_and_are_at_most_on_two_words(two_classes):
    model, seen = two_classes
    other = most_different(model, seen, EPS)
    check(model, seen, other)
    assert other.is_found.all() and not other.is_searched.any()
    assert ((other.attention > 0).sum(1) <= 2).all()
    cap = eps_max_js(seen.attention, torch.zeros(*seen.attention.shape, 2), seen.encoded.items, EPS).cap
    assert (other.js > 0).all() and (other.js <= cap + 1e-9).all()


def test_no_pair_on_a_fine_grid_is_much_better(two_classes):
    """The bisection tries only a few pairs, those that a linear model would choose."""
    model, seen = two_classes
    other = most_different(model, seen, EPS)
    items, count = seen.encoded.items, seen.attention.shape[1]
    one_hot = torch.eye(count, dtype=torch.float64)
    shares = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
    pairs = torch.cat([shares * one_hot[i] + (1 - shares) * one_hot[j] for i in range(count) for j in range(i)])
    tried = pairs.expand(len(items), -1, -1)
    with torch.no_grad():
        predictions = model.impose_each(seen.encoded, tried).softmax(-1)
    fits = total_variation_distance(predictions, seen.logits.softmax(-1)[:, None].expand_as(predictions)) <= EPS
    fits = fits & ~(tried * ~items[:, None]).any(-1)
    js = js_divergence(tried, seen.attention[:, None].expand_as(tried)).where(fits, 0.0).amax(1)
    assert (other.js >= 0.95 * js).all()


def test_only_the_allowed_words_have_weight(two_classes):
    model, seen = two_classes
    allowed = seen.encoded.items.scatter(1, seen.attention.argmax(1, keepdim=True), False)
    other = most_different(model, seen, EPS, allowed=allowed)
    check(model, seen, other)
    assert not (other.attention * ~allowed)[other.is_found].any()
    assert (other.js <= most_different(model, seen, EPS).js + 1e-9)[other.is_found].all()


def test_a_search_beside_it_can_only_add(two_classes):
    model, seen = two_classes

    def search(decode, attention, items):
        start = draw_start(items, torch.Generator().manual_seed(0), 2)
        return search_adversary(decode, attention, items, start, eps=EPS, steps=30).attention

    alone, beside = most_different(model, seen, EPS), most_different(model, seen, EPS, search=search)
    check(model, seen, beside)
    assert (beside.js >= alone.js - 1e-12).all()
    assert torch.equal(beside.is_searched, beside.js > alone.js)
