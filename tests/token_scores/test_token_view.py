import pytest
import torch

from heedful.models.trace import trace
from heedful.token_scores.token_view import token_view
from heedful.types import Batch
from support.models import VOCABULARY, make


def every_token() -> Batch:
    tokens = torch.arange(VOCABULARY)[:, None]
    real = torch.ones_like(tokens, dtype=torch.bool)
    return Batch(tokens[:, 0], tokens, real, real, tokens[:, 0])


@pytest.mark.parametrize("encoder", ["identity", "affine"])
@pytest.mark.parametrize("attention", ["dot", "additive"])
@pytest.mark.parametrize("classes", [2, 5])
def test_it_sees_what_the_model_makes_of_each_token(encoder, attention, classes):
    model = make(encoder, attention, classes, scale=1.7)
    seen, view = trace(model, every_token()), token_view(model)
    torch.testing.assert_close(view.hidden, seen.encoded.hidden[:, 0].detach())
    torch.testing.assert_close(view.attention.scores, seen.scores[:, 0].detach())
    torch.testing.assert_close((view.polarity + view.bias)[:, -1], seen.logits[:, -1].detach())


@pytest.mark.parametrize("attention", ["dot", "additive"])
def test_slopes_and_the_kernel_product_are_those_of_autograd(attention):
    model = make("identity", attention, scale=1.7)
    view, scores = token_view(model).attention, trace(model, every_token()).scores[:, 0]
    slopes = view.slopes.expand(VOCABULARY, -1)
    weight, own = model.embedding.weight, list(model.attention.parameters())
    x = torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(0)).double()
    summed = torch.autograd.grad(x @ scores, own, retain_graph=True)
    for token in range(1, VOCABULARY):  # the embedding of padding has no gradient
        gradients = torch.autograd.grad(scores[token], [weight, *own], retain_graph=True)
        torch.testing.assert_close(slopes[token], gradients[0][token])
        wanted = sum((a * b).sum() for a, b in zip(gradients[1:], summed, strict=True))
        torch.testing.assert_close(view.kernel_product(x)[token], wanted, atol=1e-12, rtol=0)


def test_a_head_without_a_bias_has_zeros():
    assert token_view(make("identity", "dot", head_bias=False)).bias.tolist() == [0.0]
