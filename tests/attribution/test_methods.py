"""What every attribution method must do, over the whole dict."""

import sys
from copy import deepcopy
from itertools import permutations

import pytest
import torch

import heedful
from heedful.attribution.gradient import odds_at, odds_gradient, sum_by_item
from heedful.attribution.methods import ATTRIBUTIONS, integrated_gradients, lime, log_odds_of_masked, seeded_by, shap
from heedful.errors import SettingError
from heedful.models.hugging_face.tokenized_texts import read_texts
from heedful.models.trace import trace
from heedful.schema.rankings import METHODS, OF_TRANSFORMERS
from support.by_hand import Bag, batch_of
from support.classifiers import LABELS, make_dataset, two_classes, written
from support.models import BATCH, LENGTHS, cut, give_attention, make, make_batch


def scores(name, encoder="bilstm", attention="additive", classes=2):
    model = make(encoder, attention, classes)
    with torch.no_grad():
        seen = trace(model, make_batch())
        return ATTRIBUTIONS[name](model, seen, torch.Generator().manual_seed(0)), seen, model


@pytest.mark.parametrize("name", [name for name in ATTRIBUTIONS if name not in OF_TRANSFORMERS])
@pytest.mark.parametrize(("encoder", "attention", "classes"), [("cnn", "dot", 5), ("hierarchical", "additive", 2)])
def test_scores_are_one_finite_number_an_item_and_repeat(name, encoder, attention, classes):
    (once, seen, model), (again, *_) = (
        scores(name, encoder, attention, classes),
        scores(name, encoder, attention, classes),
    )
    assert once.shape == seen.encoded.items.shape and once.isfinite().all() and not once.requires_grad
    assert torch.equal(once, again) and (once[~seen.encoded.items] == 0).all() and len(once) == BATCH
    assert all(parameter.grad is None for parameter in model.parameters())


def test_every_method_has_a_name_in_words():
    assert set(ATTRIBUTIONS) <= set(METHODS)


def test_with_all_items_present_the_odds_are_the_text_s_and_with_none_those_of_zeros():
    model = make("bilstm")
    seen, texts = trace(model, make_batch()), torch.tensor([1, 0, 1])
    odds = log_odds_of_masked(model, seen)
    everything, nothing = torch.ones(3, 7).double(), torch.zeros(3, 7).double()
    torch.testing.assert_close(odds(everything, texts), odds_at(model, seen, seen.embedded[texts], texts).detach())
    torch.testing.assert_close(odds(nothing, texts), odds_at(model, seen, 0 * seen.embedded[texts], texts).detach())


def test_an_absent_sentence_takes_all_its_words_with_it():
    model = make("hierarchical")
    seen, texts = trace(model, make_batch()), torch.tensor([0])
    without = seen.embedded.detach().clone()
    without[0, 3:6] = 0
    present = torch.tensor([[1.0, 0.0, 1.0]]).double()
    wanted = odds_at(model, seen, without[:1], texts).detach()
    torch.testing.assert_close(log_odds_of_masked(model, seen)(present, texts), wanted)
    assert BATCH > 1


def test_what_is_drawn_inside_depends_on_the_generator_and_leaves_torch_s_own_alone():
    torch.manual_seed(5)
    wanted = torch.rand(2)
    torch.manual_seed(5)
    drawn = []
    for seed in (1, 1, 2):
        with seeded_by(torch.Generator().manual_seed(seed)):
            drawn.append(torch.rand(3))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(torch.rand(2), wanted)


# Integrated gradients: complete, equal to a plain sum, and clear where captum is missing.

ROUNDING = 1e-6
"""Captum's weights of the steps are float32."""


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "hierarchical"])
@pytest.mark.parametrize("classes", [2, 5])
def test_they_add_up_to_what_the_text_adds_to_the_odds(encoder, classes):
    model = make(encoder, classes=classes)
    with torch.no_grad():
        seen, texts = trace(model, make_batch()), torch.arange(BATCH)
        added = odds_at(model, seen, seen.embedded, texts) - odds_at(model, seen, 0 * seen.embedded, texts)
        actual = integrated_gradients(model, seen, steps=200)
    torch.testing.assert_close(actual.sum(1), added, atol=1e-3, rtol=0)
    assert (actual[~seen.encoded.items] == 0).all() and not actual.requires_grad


def test_where_the_odds_are_linear_they_are_gradient_x_input():
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3, label=0))
    assert seen.logits.argmax(-1).item() == 0
    wanted = -torch.tensor([[1.0, -1.5, 0.25]]).double()
    torch.testing.assert_close(integrated_gradients(model, seen), wanted, atol=ROUNDING, rtol=0)


def test_they_are_the_mean_gradient_along_the_way():
    """A plain midpoint sum of 200 steps."""
    model = make("gru")
    seen = trace(model, make_batch())
    shares = (torch.arange(200).double() + 0.5) / 200
    mean = sum(odds_gradient(model, seen, share * seen.embedded) for share in shares) / 200
    wanted = sum_by_item(seen, (mean * seen.embedded.detach()).sum(-1))
    torch.testing.assert_close(integrated_gradients(model, seen), wanted, atol=1e-5, rtol=0)


def test_padding_and_neighbours_change_nothing_and_queries_stay():
    model, batch = make("bilstm", "dot", 5, True), make_batch(has_query=True)
    together = integrated_gradients(model, trace(model, batch))
    for row, length in enumerate(LENGTHS.tolist()):
        alone = integrated_gradients(model, trace(model, cut(batch, [row], length)))[0]
        torch.testing.assert_close(alone, together[row, : len(alone)], atol=ROUNDING, rtol=0)


def test_imposed_attention_stays_imposed():
    model, batch = make("bilstm", "frozen"), give_attention(make_batch(), hierarchical=False)
    assert integrated_gradients(model, trace(model, batch), steps=5).isfinite().all()


def test_where_captum_is_missing_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    model = make("average")
    with pytest.raises(
        SettingError, match=r"this attribution needs the package captum, .*pip install .heedful\[captum\]"
    ):
        integrated_gradients(model, trace(model, make_batch()))


def test_nothing_is_left_behind():
    model = make("average")
    seen, state = trace(model, make_batch()), torch.get_rng_state()
    integrated_gradients(model, seen, steps=3)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(state, torch.get_rng_state())
    seen.logits.sum().backward()  # the graph of the trace can still be used


# LIME: the coefficients of a model that is linear, nothing on padding, repeatable.


def seeded():
    return torch.Generator().manual_seed(0)


def test_where_words_add_up_it_finds_what_each_adds():
    """A ridge of 1 on 2,000 variants shrinks little."""
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3, label=0))
    wanted = -torch.tensor([[1.0, -1.5, 0.25]]).double()
    torch.testing.assert_close(lime(model, seen, seeded(), samples=2_000), wanted, atol=0.06, rtol=0)


def test_only_items_have_a_weight_and_the_generator_decides():
    model = make("hierarchical")
    seen = trace(model, make_batch())
    first, again = (lime(model, seen, seeded(), samples=30) for _ in range(2))
    assert torch.equal(first, again) and first.isfinite().all()
    assert (first[~seen.encoded.items] == 0).all() and (first[seen.encoded.items] != 0).all()


# Shapley values: complete, exact where words add up, and against all orders of a short text.

"""Captum sums in float32."""


@pytest.mark.parametrize("encoder", ["average", "bilstm", "hierarchical"])
def test_they_add_up_to_what_the_words_add_to_the_odds(encoder):
    model = make(encoder)
    seen, texts = trace(model, make_batch()), torch.arange(BATCH)
    odds, items = log_odds_of_masked(model, seen), seen.encoded.items.double()
    values = shap(model, seen, seeded(), orders=3)
    torch.testing.assert_close(values.sum(1), odds(items, texts) - odds(0 * items, texts), atol=ROUNDING, rtol=0)
    assert (values[~seen.encoded.items] == 0).all() and values.dtype == torch.float64


def test_many_orders_come_near_the_mean_over_all():
    model = make("gru")
    row, length = 1, LENGTHS.tolist()[1]
    seen = trace(model, cut(make_batch(), [row], length))
    odds = log_odds_of_masked(model, seen)
    wanted = torch.zeros(length).double()
    orders = list(permutations(range(length)))
    for order in orders:
        present, before = torch.zeros(1, length).double(), odds(torch.zeros(1, length).double(), torch.tensor([0]))
        for place in order:
            present[0, place] = 1
            after = odds(present, torch.tensor([0]))
            wanted[place] += (after - before).item() / len(orders)
            before = after
    torch.testing.assert_close(shap(model, seen, seeded(), orders=400)[0], wanted, atol=2e-3, rtol=0)


def test_the_generator_decides():
    model = make("bilstm")
    seen = trace(model, make_batch())
    assert torch.equal(shap(model, seen, seeded(), orders=2), shap(model, seen, seeded(), orders=2))


# Rollout and value norm as rankings of a Hugging Face model whose shown attention is another.


@pytest.fixture(scope="module")
def model():
    return two_classes()


@pytest.fixture(scope="module")
def batch(model):
    texts, labels = zip(*written(6), strict=True)
    (batch,) = read_texts(model.classifier, texts, [LABELS.index(label) for label in labels]).batches()
    return batch


@pytest.mark.parametrize(("name", "site"), [("rollout", "rollout"), ("value_norm", "value-norm")])
@pytest.mark.parametrize("shown", ["last", "head:0.1"])
def test_it_is_what_that_site_shows(model, batch, name, site, shown):
    seen, other = trace(model.at(shown), batch), trace(model.at(site), batch)
    scores = ATTRIBUTIONS[name](model.at(shown), seen, torch.Generator())
    assert torch.equal(scores, other.attention) and not torch.equal(scores, seen.attention)
    assert torch.allclose(scores.sum(-1), torch.ones(len(scores), dtype=torch.float64))


def test_rollout_is_the_product_of_the_layers(model, batch):
    module, length = deepcopy(model.classifier.network.module), int(batch.mask[0].sum())
    tokens = batch.tokens[:1, :length]
    module.set_attn_implementation("eager")
    with torch.no_grad():
        layers = module(tokens, output_attentions=True).attentions
    product = torch.eye(length, dtype=torch.float64)
    for layer in layers:
        product = (layer[0].mean(0).double() + torch.eye(length)) / 2 @ product
    word_ids = batch.sentence[0, :length]
    words = torch.stack([product[0, word_ids == word].sum() for word in range(int(word_ids.max()) + 1)])
    scores = ATTRIBUTIONS["rollout"](model, trace(model, batch), torch.Generator())[0]
    assert torch.allclose(scores[: len(words)], words / words.sum(), atol=1e-6)


@pytest.mark.parametrize("name", ["rollout", "value_norm"])
def test_other_models_have_none(name):
    own = make("bilstm", "additive", 2)
    with pytest.raises(
        SettingError, match=f"ranking '{name}' is for Hugging Face models; this model is of class Linear"
    ):
        ATTRIBUTIONS[name](own, trace(own, make_batch()), torch.Generator())


def test_an_audit_ranks_by_it(model):
    settings = heedful.AuditSettings(tests=("erase_until_flip",), rankings=("rollout", "value_norm"))
    audit = heedful.audit(model, make_dataset(train=2, dev=2, test=6), settings=settings)
    assert {"rollout", "value_norm", "attention"} <= {ranking.name for ranking in audit.verdict.rankings}
