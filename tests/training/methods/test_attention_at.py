"""Adversarial training for attention against one text at a time."""

import pytest
import torch

from heedful.attacks import Ball, draw
from heedful.models.attention import masked_softmax
from heedful.models.trace import trace
from heedful.training.methods.attention_at import (
    attention_at,
    attention_at_weights,
    attention_iat,
    attention_iat_weights,
    attention_rp,
    score_slope,
)
from heedful.training.methods.method import Step
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts

KINDS = [{"encoder": "average"}, {"temperature": 0.5}, {"classes": 5}, {"head": "tanh"}, {"attention": "dot"}]


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_the_text_and_of_one_step_of_the_scores(kind):
    model, batch = make(**kind), make_batch()
    losses = attention_at(Step(model, trace(model, batch), None, torch.Generator()), size=1.5, weight=0.7)
    for row, length, text in texts(batch):
        encoded, scores, _, _ = read(model, model.embed(text), text)
        leaf = torch.zeros(1, length).double().requires_grad_()

        def loss(change, encoded=encoded, scores=scores, text=text):
            attention = (scores / model.temperature + change).softmax(-1)
            return label_loss(model.decode(encoded, attention), text.labels[0])

        clean = loss(leaf)
        (gradient,) = torch.autograd.grad(clean, leaf, retain_graph=True)
        step = 1.5 * gradient / gradient.norm() if length > 1 else torch.zeros_like(gradient)
        torch.testing.assert_close(losses[row], clean + 0.7 * loss(step), atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_climb_by_signs(kind):
    model, batch = make(**kind), make_batch()
    losses = attention_at_weights(
        Step(model, trace(model, batch), None, torch.Generator().manual_seed(0)), radius=0.2, steps=5, weight=0.7
    )
    start = draw(batch.mask, Ball(0.2, "linf"), torch.Generator().manual_seed(0), torch.float64)
    for row, length, text in texts(batch):
        encoded, _, attention, logits = read(model, model.embed(text), text)
        change = start[row : row + 1, :length]
        for _ in range(5):
            leaf = change.clone().requires_grad_()
            loss = label_loss(model.decode(encoded, attention + leaf), text.labels[0])
            (gradient,) = torch.autograd.grad(loss, leaf, retain_graph=True)
            change = (change + 0.4 / 5 * gradient.sign()).clamp(-0.2, 0.2)
        worst = label_loss(model.decode(encoded, attention + change), text.labels[0])
        wanted = label_loss(logits, text.labels[0]) + 0.7 * worst
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_the_slope_of_scores_is_that_through_the_softmax():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    scores = seen.scores.detach().requires_grad_()
    logits = model.decode(seen.encoded, masked_softmax(scores, batch.mask))
    loss = torch.nn.functional.cross_entropy(logits, batch.labels, reduction="sum")
    (wanted,) = torch.autograd.grad(loss, scores)
    torch.testing.assert_close(score_slope(model, seen), wanted, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"classes": 5}, {"head": "tanh"}])
def test_the_loss_is_that_of_the_text_and_of_one_step_of_the_coefficients(kind):
    model, batch = make(**kind), make_batch()
    losses = attention_iat(Step(model, trace(model, batch), None, torch.Generator()), size=1.5, weight=0.7)
    for row, length, text in texts(batch):
        encoded, scores, _, _ = read(model, model.embed(text), text)
        fixed = scores[0].detach()
        leaf = torch.zeros(length, length).double().requires_grad_()

        def loss(coefficients, encoded=encoded, scores=scores, fixed=fixed, text=text):
            change = [
                sum(coefficients[i, k] * (fixed[i] - fixed[k]) for k in range(len(fixed))) for i in range(len(fixed))
            ]
            attention = (scores + torch.stack(change)).softmax(-1)
            return label_loss(model.decode(encoded, attention), text.labels[0])

        clean = loss(leaf)
        (gradient,) = torch.autograd.grad(clean, leaf, retain_graph=True)
        step = 1.5 * gradient / gradient.norm() if length > 1 else torch.zeros_like(gradient)
        torch.testing.assert_close(losses[row], clean + 0.7 * loss(step), atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"classes": 5}, {"head": "tanh"}])
def test_the_weights_move_along_their_differences_by_as_much_as_the_ball_allows(kind):
    model, batch = make(**kind), make_batch()
    losses = attention_iat_weights(Step(model, trace(model, batch), None, torch.Generator()), radius=0.05, weight=0.7)
    for row, length, text in texts(batch):
        encoded, _, attention, logits = read(model, model.embed(text), text)
        differences = attention[0][:, None] - attention[0][None]
        leaf = torch.zeros(length, length).double().requires_grad_()
        moved = attention + (leaf * differences.detach()).sum(1)
        (gradient,) = torch.autograd.grad(label_loss(model.decode(encoded, moved), text.labels[0]), leaf)
        change = (gradient * differences).sum(1).detach()
        change = 0.05 * change / change.abs().max().clamp_min(1e-30)
        perturbed = label_loss(model.decode(encoded, attention + change), text.labels[0])
        wanted = label_loss(logits, text.labels[0]) + 0.7 * perturbed
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_differences_of_one_length_would_give_adversarial_training_back():
    """Why the differences keep their size: two items are equally far from each other, so both methods are the same."""
    model, batch = make(), make_batch()
    two = batch.__class__(
        batch.index[:1], batch.tokens[:1, :2], batch.mask[:1, :2], batch.attendable_mask[:1, :2], batch.labels[:1]
    )
    seen = trace(model, two)
    size = 1.0
    gap = (seen.scores[0, 0] - seen.scores[0, 1]).abs().item()
    plain = attention_at(Step(model, seen, None, torch.Generator()), size=size * gap)
    torch.testing.assert_close(attention_iat(Step(model, seen, None, torch.Generator()), size=size), plain)


def test_the_loss_is_that_of_the_text_and_of_its_noisy_weights():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    losses = attention_rp(Step(model, seen, None, torch.Generator().manual_seed(0)), radius=0.2, weight=0.7)
    noise = draw(batch.mask, Ball(0.2, "linf"), torch.Generator().manual_seed(0), torch.float64)
    for row, length, text in texts(batch):
        encoded, _, attention, logits = read(model, model.embed(text), text)
        noisy = attention[0] + noise[row, :length]
        context = sum(weight * state for weight, state in zip(noisy, encoded.hidden[0], strict=True))
        perturbed = torch.stack([torch.zeros(1).double(), model.head.linear(context)])
        wanted = label_loss(logits, text.labels[0]) + 0.7 * label_loss(perturbed, text.labels[0])
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)
