"""Adversarial training on words against one text and one step at a time."""

import pytest
import torch

from heedful.attacks import Ball, draw
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.training.methods.vanilla import vanilla
from heedful.training.methods.word_at import word_at, worst_change
from support.models import BATCH, make, make_batch
from support.reference_methods import label_loss, read, texts, worst_embedding


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"encoder": "cnn", "classes": 5}])
def test_the_loss_is_that_of_the_text_and_of_its_worst_embeddings(kind):
    model, batch = make(**kind), make_batch()
    seen = trace(model, batch)
    losses = word_at(model, seen, None, drawn(), radius=0.3, steps=5, weight=0.7)
    movable = batch.mask.unsqueeze(-1).expand_as(seen.embedded)
    start = draw(movable, Ball(0.3, "linf"), drawn(), torch.float64)
    for row, length, text in texts(batch):
        clean = label_loss(read(model, model.embed(text), text)[3], text.labels[0])
        worst = worst_embedding(model, text, start[row : row + 1, :length], 0.3, 5)
        wanted = clean + 0.7 * label_loss(read(model, worst, text)[3], text.labels[0])
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_no_radius_is_no_perturbation():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    losses = word_at(model, seen, None, drawn(), radius=0.0, weight=2.0)
    torch.testing.assert_close(losses, 3 * vanilla(model, seen, None, drawn()), atol=1e-12, rtol=0)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_attack_raises_the_loss_more_than_noise_does_and_stays_in_the_ball(norm):
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    order = {"l1": 1, "l2": 2, "linf": torch.inf}[norm]
    change = worst_change(model, seen, Ball(0.5, norm), drawn(), 10)
    assert (torch.linalg.vector_norm(change.flatten(1), order, dim=1) <= 0.5 + 1e-12).all()
    assert not change[~batch.mask].any()
    attacked = word_at(model, seen, None, drawn(), radius=0.5, norm=norm)
    noisy = word_at(model, seen, None, drawn(), radius=0.5, norm=norm, steps=0)
    assert attacked.shape == (BATCH,) and (attacked > noisy).all()


def test_no_gradient_is_left_by_the_attack():
    model, batch = make(), make_batch()
    worst_change(model, trace(model, batch), Ball(0.5, "linf"), drawn(), 3)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_frozen_embedding_can_be_attacked_too():
    model, batch = make(trains_embedding=False), make_batch()
    word_at(model, trace(model, batch), None, drawn()).sum().backward()
    assert model.embedding.weight.grad is None and model.head.linear.weight.grad.any()


def test_an_unknown_norm_is_refused():
    model, batch = make(), make_batch()
    with pytest.raises(SettingError, match="unknown norm 'l3'"):
        word_at(model, trace(model, batch), None, drawn(), norm="l3")
