"""Noise on the weights, added by hand."""

import torch

from heedful.attacks import Ball, draw
from heedful.models.trace import trace
from heedful.training.methods.attention_rp import attention_rp
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts


def test_the_loss_is_that_of_the_text_and_of_its_noisy_weights():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    losses = attention_rp(model, seen, None, torch.Generator().manual_seed(0), radius=0.2, weight=0.7)
    noise = draw(batch.mask, Ball(0.2, "linf"), torch.Generator().manual_seed(0), torch.float64)
    for row, length, text in texts(batch):
        encoded, _, attention, logits = read(model, model.embed(text), text)
        noisy = attention[0] + noise[row, :length]
        context = sum(weight * state for weight, state in zip(noisy, encoded.hidden[0], strict=True))
        perturbed = torch.stack([torch.zeros(1).double(), model.head.linear(context)])
        wanted = label_loss(logits, text.labels[0]) + 0.7 * label_loss(perturbed, text.labels[0])
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_the_noise_is_drawn_anew_and_only_from_the_generator():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    generator = torch.Generator().manual_seed(0)
    once, again = (attention_rp(model, seen, None, generator, radius=0.2) for _ in range(2))
    torch.manual_seed(5)
    same = attention_rp(model, seen, None, torch.Generator().manual_seed(0), radius=0.2)
    assert not torch.equal(once, again) and torch.equal(once, same)
