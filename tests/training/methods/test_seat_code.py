"""The published code's loss against one text and one step at a time."""

from typing import Any

import pytest
import torch

from heedful.attacks import Ball, draw
from heedful.models.trace import rerun, trace
from heedful.training.methods.seat_code import seat_code
from heedful.training.methods.word_at import word_at
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts, top_k_gap, worst_embedding


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize("encoder", ["average", "rnn", "bilstm"])
def test_the_loss_is_three_terms(encoder, clamp):
    model, batch = make(encoder), make_batch()
    seen = trace(model, batch)
    options: dict[str, Any] = {"radius": 0.3, "steps": 5, "lambda1": 0.7, "lambda2": 20.0, "k": 2}
    losses = seat_code(model, seen, None, torch.Generator().manual_seed(0), clamp=clamp, **options)
    movable = batch.mask.unsqueeze(-1).expand_as(seen.embedded)
    start = draw(movable, Ball(0.3, "linf"), torch.Generator().manual_seed(0), torch.float64)
    for row, length, text in texts(batch):
        _, _, attention, logits = read(model, model.embed(text), text)
        worst = worst_embedding(model, text, start[row : row + 1, :length], 0.3, 5, clamp)
        _, _, moved, perturbed = read(model, worst, text)
        wanted = label_loss(logits, text.labels[0]) + 0.7 * label_loss(perturbed, text.labels[0])
        wanted = wanted + 20 * top_k_gap(moved, attention, 2)
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_without_the_last_term_it_is_adversarial_training_on_words():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    code = seat_code(model, seen, None, torch.Generator().manual_seed(0), lambda2=0.0)
    assert torch.equal(code, word_at(model, seen, None, torch.Generator().manual_seed(0)))


def test_the_clamp_moves_embeddings_far_beyond_a_small_radius():
    """Negative coordinates are cut to 0, so even a radius of 0 is a perturbation, and a large one."""
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    options: dict[str, Any] = {"radius": 0.0, "lambda1": 1.0, "lambda2": 0.0}
    plain = seat_code(model, seen, None, torch.Generator(), **options)
    clamped = seat_code(model, seen, None, torch.Generator(), clamp=True, **options)
    cut = seen.embedded.clamp(0, 1)
    worst = rerun(model, seen, cut - seen.embedded).logits
    wanted = torch.nn.functional.cross_entropy(worst, batch.labels, reduction="none")
    torch.testing.assert_close(clamped - plain / 2, wanted, atol=1e-12, rtol=0)
