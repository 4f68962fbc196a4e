"""Words moved towards words, against coefficients that are leaves of a graph."""

import pytest
import torch

from heedful.models.trace import trace
from heedful.training.methods.word_iat import towards_words, word_iat
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts


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
    losses = word_iat(model, trace(model, batch), None, torch.Generator(), size=0.8, weight=0.7)
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
    assert not towards_words(embedded, torch.ones(2, 3, 5), mask, 1.0).any()


def test_padding_is_no_word_to_move_to():
    draw = torch.Generator().manual_seed(0)
    embedded, gradient = (torch.randn(1, 5, 3, generator=draw, dtype=torch.float64) for _ in range(2))
    mask = torch.tensor([[True, True, True, False, False]])
    wide = towards_words(embedded, gradient, mask, 1.0)
    torch.testing.assert_close(wide[:, :3], towards_words(embedded[:, :3], gradient[:, :3], mask[:, :3], 1.0))
    assert not wide[:, 3:].any()
