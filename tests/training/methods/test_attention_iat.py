"""Scores moved along their differences, against coefficients that are leaves of a graph."""

import pytest
import torch

from heedful.models.trace import trace
from heedful.training.methods.attention_at import attention_at
from heedful.training.methods.attention_iat import along_differences, attention_iat
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"classes": 5}, {"head": "tanh"}])
def test_the_loss_is_that_of_the_text_and_of_one_step_of_the_coefficients(kind):
    model, batch = make(**kind), make_batch()
    losses = attention_iat(model, trace(model, batch), None, torch.Generator(), size=1.5, weight=0.7)
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


def test_differences_of_one_length_would_give_adversarial_training_back():
    """Why the differences keep their size: two items are equally far from each other, so both methods are the same."""
    model, batch = make(), make_batch()
    two = batch.__class__(
        batch.index[:1], batch.tokens[:1, :2], batch.mask[:1, :2], batch.attendable_mask[:1, :2], batch.labels[:1]
    )
    seen = trace(model, two)
    size = 1.0
    gap = (seen.scores[0, 0] - seen.scores[0, 1]).abs().item()
    plain = attention_at(model, seen, None, torch.Generator(), size=size * gap)
    torch.testing.assert_close(attention_iat(model, seen, None, torch.Generator(), size=size), plain)


def test_equal_scores_stay_equal():
    items = torch.tensor([[True, True, True, False]])
    assert not along_differences(torch.tensor([[2.0, 2.0, 2.0, 7.0]]), torch.ones(1, 4), items, 1.0).any()
