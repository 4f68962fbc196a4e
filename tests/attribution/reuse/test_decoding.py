import pytest
import torch
from torch import nn

from heedful.attribution.reuse.decoding import decoding_of
from heedful.models.heads import HEADS
from heedful.models.trace import trace
from support.models import make, make_batch


class Squares(nn.Module):
    """A head that is not Heedful's own."""

    def forward(self, context, query):
        return context[..., :2].square()


@torch.no_grad()
@pytest.mark.parametrize("head", [*HEADS, "own"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("has_query", [False, True])
def test_weighted_sums_of_mapped_states_give_the_heads_logits(head, classes, has_query):
    model = make("bilstm", classes=classes, has_query=has_query, head="linear" if head == "own" else head)
    if head == "own":
        model.head = Squares()
    seen = trace(model, make_batch(has_query))
    decoding = decoding_of(model.head, seen.encoded)
    assert (decoding.weight is None) == (head == "own")
    hidden = seen.encoded.hidden
    values = hidden if decoding.weight is None else hidden @ decoding.weight.transpose(-1, -2)
    sums = (seen.attention[:, None] @ values)[None]
    torch.testing.assert_close(decoding.finish(sums)[0, :, 0], seen.logits, atol=1e-14, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("head", HEADS)
def test_heads_may_lack_a_bias(head):
    model = make("bilstm", head=head, head_bias=False)
    seen = trace(model, make_batch())
    decoding = decoding_of(model.head, seen.encoded)
    assert decoding.weight is not None
    sums = (seen.attention[:, None] @ seen.encoded.hidden @ decoding.weight.T)[None]
    torch.testing.assert_close(decoding.finish(sums)[0, :, 0], seen.logits, atol=1e-14, rtol=0)
