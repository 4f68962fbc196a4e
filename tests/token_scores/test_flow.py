"""The flow as a whole: against autograd on the real model, and against a real step."""

from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.data.batching import EncodedSplit, collate
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.token_scores import flow, has_flow, item_polarity, token_view
from heedful.types import Batch
from support.token_flow import EMBED, TEXTS, VOCABULARY, problem

FORMS = [(encoder, attention) for encoder in ("identity", "affine") for attention in ("dot", "additive")]
SEEDS = st.integers(0, 10_000)


def mean_loss(model: AttentionModel, split: EncodedSplit) -> Tensor:
    batch = collate(split, range(TEXTS))
    return cross_entropy(trace(model, batch).logits, batch.labels)


def scores(model: AttentionModel) -> tuple[Tensor, Tensor]:
    """Polarity and attention score of every token, by running the model on each."""
    tokens = torch.arange(VOCABULARY)[:, None]
    real = torch.ones_like(tokens, dtype=torch.bool)
    seen = trace(model, Batch(tokens[:, 0], tokens, real, real, tokens[:, 0]))
    return item_polarity(model, seen.encoded)[:, 0], seen.scores[:, 0] / model.temperature


def rates(model: AttentionModel, split: EncodedSplit) -> list[Tensor]:
    """The derivative of each score along minus the gradient of the mean loss, score by score."""
    parameters = list(model.parameters())
    loss = torch.autograd.grad(mean_loss(model, split), parameters)

    def rate(score: Tensor) -> Tensor:
        gradients = torch.autograd.grad(score, parameters, retain_graph=True, allow_unused=True)
        return -sum((g * d).sum() for g, d in zip(gradients, loss, strict=True) if g is not None)

    return [torch.stack([rate(value) for value in score.flatten()]).reshape(score.shape) for score in scores(model)]


def assert_is_autograds(model: AttentionModel, split: EncodedSplit) -> None:
    rates_of_change = flow(model, split)
    for terms, wanted in zip((rates_of_change.polarity, rates_of_change.attention), rates(model, split), strict=True):
        assert wanted.abs().max() > 1e-4
        torch.testing.assert_close(terms.total, wanted, atol=1e-10, rtol=0)


@pytest.mark.parametrize(("encoder", "attention"), FORMS)
@pytest.mark.parametrize("classes", [2, 3, 5])
@settings(max_examples=8)
@given(seed=SEEDS, framed=st.booleans(), bias=st.booleans(), temperature=st.sampled_from([1.0, 0.6, 3.0]))
def test_every_form_is_what_autograd_finds(encoder, attention, classes, seed, framed, bias, temperature):
    changes = {"head_bias": bias, "temperature": temperature}
    assert_is_autograds(*problem(encoder, attention, classes, seed, framed, **changes))


def for_more_labels(model: AttentionModel, split: EncodedSplit, *, printed: bool) -> tuple[Tensor, Tensor]:
    """ds and da of the supplement's form for more than two labels: as printed there, or with its two slips mended."""
    e, W, V = (
        model.embedding.weight.detach(),
        model.head.linear.weight.detach(),
        model.attention.query.weight[0].detach(),
    )
    scale, m = model.attention.scale, len(split.texts)
    ds, da = torch.zeros(VOCABULARY, len(W)).double(), torch.zeros(VOCABULARY).double()
    for number, text in enumerate(split.texts):
        with torch.no_grad():
            seen = trace(model, collate(split, [number]))
        alpha, wrong = seen.attention[0], seen.logits[0].softmax(-1)
        wrong[split.labels[number]] -= 1
        h = alpha @ e[text]
        ds -= (e @ h)[:, None] * wrong / m
        for place, token in enumerate(text.tolist()):
            q = (W @ e[token] - W @ h) @ wrong
            weight = 1.0 if printed else alpha[place]
            ds[token] -= (W @ V) * weight * q / (m * scale) + W @ W.T @ (weight * wrong) / m
            da -= alpha[place] * q * (e @ e[token]) / (m * (scale if printed else scale**2))
            da[token] -= (V @ V) * alpha[place] * q / (m * scale**2) + alpha[place] * wrong @ (W @ V) / (m * scale)
    return ds, da


@settings(max_examples=8)
@given(seed=SEEDS)
def test_the_form_for_more_labels_holds_with_two_misprints_mended_and_fails_as_printed(seed):
    model, split = problem(classes=3, seed=seed, head_bias=False)
    truth = rates(model, split)
    mended, printed = (for_more_labels(model, split, printed=way) for way in (False, True))
    for right, wrong, wanted in zip(mended, printed, truth, strict=True):
        torch.testing.assert_close(right, wanted, atol=1e-10, rtol=0)
        assert (wrong - wanted).abs().max() > 0.01


@pytest.mark.parametrize(("encoder", "attention"), FORMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_small_step_moves_the_scores_by_the_sum_of_the_terms_to_first_order(encoder, attention, classes):
    model, split = problem(encoder, attention, classes)
    before, rates_of_change = scores(model), flow(model, split)

    def missed(step: float) -> list[float]:
        moved = deepcopy(model)
        optimizer = torch.optim.SGD(moved.parameters(), lr=step)
        mean_loss(moved, split).backward()
        optimizer.step()
        pairs = zip(before, scores(moved), (rates_of_change.polarity, rates_of_change.attention), strict=True)
        return [(now - then - step * terms.total).abs().max().item() for then, now, terms in pairs]

    for whole, half in zip(missed(1e-3), missed(5e-4), strict=True):
        assert whole / half == pytest.approx(4, rel=0.02)


def test_how_the_texts_are_batched_changes_nothing(monkeypatch):
    model, split = problem("affine", "additive", 3)
    whole = flow(model, split)
    monkeypatch.setattr(token_view, "SIZE", 2)
    torch.testing.assert_close(flow(model, split).by_letter(), whole.by_letter(), atol=1e-14, rtol=0)


def test_a_float32_model_in_training_mode_with_dropout_gives_the_same_and_stays_as_it_was():
    model, split = problem(embedding_dropout=0.5, context_dropout=0.5)
    single = deepcopy(model).float().train()
    before = {name: weight.clone() for name, weight in single.state_dict().items()}
    terms, wanted = flow(single, split).by_letter(), flow(model, split).by_letter()
    torch.testing.assert_close(terms, wanted, atol=1e-5, rtol=0)
    assert single.training and all(weight.grad is None for weight in single.parameters())
    assert all(torch.equal(weight, before[name]) for name, weight in single.state_dict().items())


def test_a_token_that_never_occurs_moves_by_the_shared_layers_alone():
    model, split = problem()
    unseen = {letter: float(term[VOCABULARY - 1]) for letter, term in flow(model, split).by_letter().items()}
    assert [unseen[letter] for letter in "ABDE"] == [0, 0, 0, 0] and unseen["C"] and unseen["F"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": "bilstm"}, "'identity' and 'affine'"),
        ({"encoder": "average"}, "'identity' and 'affine'"),
        ({"attention": "uniform"}, "attention must be 'dot' or 'additive'"),
        ({"head": "tanh"}, "the head must be 'linear'"),
        ({"trains_embedding": False}, "trains_embedding=False"),
    ],
)
def test_models_whose_flow_is_not_known_are_refused(changes, message):
    model, split = problem(**changes)
    with pytest.raises(SettingError, match=message):
        flow(model, split)
    assert not has_flow(model)


def test_models_of_texts_with_a_query_are_refused():
    for attention in ("dot", "additive"):
        network = NetworkSettings(encoder="identity", attention=attention, embed_size=EMBED)
        model = build_model(network, VOCABULARY, 2, has_query=True)
        with pytest.raises(SettingError, match="with a query"):
            flow(model, problem()[1])
