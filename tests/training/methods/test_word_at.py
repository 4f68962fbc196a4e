"""Adversarial training on words against one text and one step at a time."""

import pytest
import torch

from heedful.attacks import Ball, draw
from heedful.models.trace import trace
from heedful.training.methods.method import Step
from heedful.training.methods.word_at import towards_words, word_at, word_iat, worst_change
from support.models import BATCH, make, make_batch
from support.reference_methods import label_loss, read, texts, worst_embedding


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"encoder": "cnn", "classes": 5}])
def test_the_loss_is_that_of_the_text_and_of_its_worst_embeddings(kind):
    model, batch = make(**kind), make_batch()
    seen = trace(model, batch)
    losses = word_at(Step(model, seen, None, drawn()), radius=0.3, steps=5, weight=0.7)
    movable = batch.mask.unsqueeze(-1).expand_as(seen.embedded)
    start = draw(movable, Ball(0.3, "linf"), drawn(), torch.float64)
    for row, length, text in texts(batch):
        clean = label_loss(read(model, model.embed(text), text)[3], text.labels[0])
        worst = worst_embedding(model, text, start[row : row + 1, :length], 0.3, 5)
        wanted = clean + 0.7 * label_loss(read(model, worst, text)[3], text.labels[0])
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_the_attack_raises_the_loss_more_than_noise_does_and_stays_in_the_ball(norm):
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    order = {"l1": 1, "l2": 2, "linf": torch.inf}[norm]
    change = worst_change(model, seen, Ball(0.5, norm), drawn(), 10)
    assert (torch.linalg.vector_norm(change.flatten(1), order, dim=1) <= 0.5 + 1e-12).all()
    assert not change[~batch.mask].any()
    attacked = word_at(Step(model, seen, None, drawn()), radius=0.5, norm=norm)
    noisy = word_at(Step(model, seen, None, drawn()), radius=0.5, norm=norm, steps=0)
    assert attacked.shape == (BATCH,) and (attacked > noisy).all()


def moved(embedded: torch.Tensor, coefficients: torch.Tensor) -> torch.Tensor:
    """Each word plus its coefficients times the directions of length 1 to the others."""
    rows = []
    for i, word in enumerate(embedded):
        row = word
        for k, other in enumerate(embedded):
            length = (other - word).norm()
            if length > 0:
                row = row + coefficients[i, k] * (other - word) / length
        rows.append(row)
    return torch.stack(rows)


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"encoder": "cnn", "classes": 5}])
def test_the_loss_is_that_of_the_text_and_of_one_step_of_the_coefficients(kind):
    model, batch = make(**kind), make_batch()
    losses = word_iat(Step(model, trace(model, batch), None, torch.Generator()), size=0.8, weight=0.7)
    for row, length, text in texts(batch):
        embedded = model.embed(text).detach()
        leaf = torch.zeros(length, length).double().requires_grad_()

        def loss(coefficients, embedded=embedded, text=text):
            return label_loss(read(model, moved(embedded[0], coefficients)[None], text)[3], text.labels[0])

        clean = loss(leaf)
        (gradient,) = torch.autograd.grad(clean, leaf, allow_unused=True)
        step = torch.zeros_like(leaf) if gradient is None else 0.8 * gradient / gradient.norm()
        torch.testing.assert_close(losses[row], clean + 0.7 * loss(step), atol=1e-10, rtol=0)


def test_a_text_of_one_word_or_of_one_word_repeated_has_nowhere_to_go():
    embedded = torch.ones(2, 3, 5) * torch.rand(1, 1, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True, False, False], [True, True, True]])
    assert not towards_words(embedded, torch.ones(2, 3, 5), mask, 1.0, embedded, mask).any()


def test_padding_is_no_word_to_move_to():
    draw = torch.Generator().manual_seed(0)
    embedded, gradient = (torch.randn(1, 5, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    mask = torch.tensor([[True, True, True, False, False]])
    wide = towards_words(embedded, gradient, mask, 1.0, embedded, mask)
    narrow = towards_words(embedded[:, :3], gradient[:, :3], mask[:, :3], 1.0, embedded[:, :3], mask[:, :3])
    torch.testing.assert_close(wide[:, :3], narrow)
    assert not wide[:, 3:].any()


@pytest.mark.parametrize("dictionary", [0, 3])
def test_the_directions_lead_to_words_of_the_text_or_of_the_dictionary_within_the_ball(dictionary):
    """The change that the loss was of is a step along those directions whose largest coordinate is the radius."""
    model, batch = make(encoder="average"), make_batch()
    seen = trace(model, batch)
    losses = word_iat(Step(model, seen, None, drawn()), radius=0.05, dictionary=dictionary)
    ids = torch.randint(len(model.word_vectors), (dictionary,), generator=drawn())
    for row, length, text in texts(batch):
        embedded = model.embed(text).detach()[0]
        others = model.word_vectors.detach()[ids] if dictionary else embedded
        leaf = torch.zeros(length, len(others)).double().requires_grad_()
        units = torch.nn.functional.normalize(others[None] - embedded[:, None], dim=-1)
        moved_to = embedded + (leaf[..., None] * units).sum(1)
        loss = label_loss(read(model, moved_to[None], text)[3], text.labels[0])
        (gradient,) = torch.autograd.grad(loss, leaf)
        change = (gradient[..., None] * units).sum(1)
        change = 0.05 * change / change.abs().max().clamp_min(1e-30)
        wanted = label_loss(read(model, model.embed(text), text)[3], text.labels[0])
        wanted = wanted + label_loss(read(model, (embedded + change)[None], text)[3], text.labels[0])
        torch.testing.assert_close(losses[row], wanted, atol=1e-8, rtol=0)
