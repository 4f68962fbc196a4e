"""The regulariser by hand and through the loop."""

import pytest
import torch

from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.token_scores.token_view import head_alignment
from heedful.training.loop import train
from heedful.training.methods.alignment import alignment
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from heedful.training.trained import Trained
from support.models import BATCH, make, make_batch
from support.runs import changed, same, toy

NOTHING = torch.Generator()


def losses(model, **options):
    seen = trace(model, make_batch())
    return alignment(Step(model, seen, None, NOTHING), **options), vanilla(Step(model, seen, None, NOTHING))


def aligned(classes: int = 2):
    """A model with V . W = 1 - 4 = -3; with more labels -3, and twice that, and so on."""
    model = make("identity", "dot", classes)
    with torch.no_grad():
        model.attention.query.weight.copy_(torch.tensor([[1.0, 2, 0, 0, 0]]))
        rows = len(model.head.linear.weight)
        model.head.linear.weight.copy_(torch.arange(1.0, rows + 1)[:, None] * torch.tensor([1.0, -2, 7, 0, 0]))
    return model


def test_the_size_of_the_product_is_added_to_every_texts_loss():
    penalised, plain = losses(aligned(), strength=0.5)
    torch.testing.assert_close(penalised - plain, torch.full((BATCH,), 1.5).double())


def test_the_product_may_be_taken_in_the_space_of_the_embeddings():
    model = make("affine", "dot", 2)
    matrix, query, head = model.encoder.layers.weight, model.attention.query.weight[0], model.head.linear.weight[0]
    penalised, plain = losses(model, strength=0.5, of_embeddings=True)
    wanted = 0.5 * ((matrix.T @ head) @ (matrix.T @ query)).abs()
    torch.testing.assert_close(penalised - plain, wanted.expand(BATCH))
    assert not torch.allclose(losses(model, strength=0.5)[0], penalised)


def test_the_gradient_pushes_the_product_towards_zero():
    model = aligned()
    penalised, plain = losses(model, strength=0.5)
    (gradient,) = torch.autograd.grad((penalised - plain).mean(), model.attention.query.weight)
    torch.testing.assert_close(gradient, -0.5 * model.head.linear.weight.detach())


@pytest.mark.parametrize("changes", [{"attention": "uniform"}, {"attention": "dot", "has_query": True}])
def test_a_model_without_the_two_directions_is_refused(changes):
    model, batch = make(**changes), make_batch(changes.get("has_query", False))
    with pytest.raises(SettingError, match="to have a direction"):
        alignment(Step(model, trace(model, batch), None, NOTHING))


@pytest.mark.parametrize("attention", ["dot", "additive"])
def test_a_strong_regulariser_leaves_attention_and_head_less_aligned_and_still_learns(attention):
    def trained(method: str, **options) -> Trained:
        training = {"training__method": method, "training__options": options, "training__epochs": 3}
        return train(changed(network__encoder="identity", network__attention=attention, **training), toy())

    plain, none, strong = trained("vanilla"), trained("alignment", strength=0.0), trained("alignment", strength=1.0)
    assert same(plain, none)
    products = [head_alignment(run.model).abs().item() for run in (plain, strong)]
    assert products[1] < products[0] / 3
    assert strong.scores["test"]["roc_auc"] == 1.0
