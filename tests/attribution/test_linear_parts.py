from itertools import product

import pytest
import torch
from torch import nn

from heedful.attribution.linear_parts import SCORINGS, decoding_of, mapped, scoring_of
from heedful.models.attention import ATTENTIONS
from heedful.models.attention_model import HEADS
from heedful.models.trace import trace
from support.models import BATCH, HIDDEN, TIME, give_attention, make, make_batch
from support.pairwise import pairwise


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("has_query", [False, True])
def test_halves_of_a_state_add_up_to_its_score(attention, has_query):
    temperature = 1.0 if attention == "frozen" else 0.3
    model = make("bilstm", attention, has_query=has_query, temperature=temperature)
    seen = trace(model, give_attention(make_batch(has_query), hierarchical=False))
    scoring = scoring_of(model.attention, model.temperature, seen.encoded, seen.scores)
    halves = [slice(0, HIDDEN), slice(HIDDEN, 2 * HIDDEN)]
    states, text = seen.encoded.hidden.flatten(0, 1), torch.arange(BATCH).repeat_interleave(TIME)
    first, second = (mapped(scoring.weight[..., half], states[:, half], text) for half in halves)
    projected = (first + second).unflatten(0, (BATCH, TIME))
    scores = scoring.readout((projected + scoring.constant).detach())
    items = seen.encoded.items
    torch.testing.assert_close(scores[items], seen.scores[items] / temperature, atol=1e-14, rtol=0)


def test_every_kind_of_attention_has_its_scoring():
    assert set(SCORINGS) == set(ATTENTIONS.values())


class Squares(nn.Module):
    """A head that is not Heedful's own."""

    def forward(self, context, query):
        return context[..., :2].square()


@torch.no_grad()
@pytest.mark.parametrize(("head", "classes", "has_query"), pairwise(product([*HEADS, "own"], (2, 5), (False, True))))
def test_weighted_sums_of_mapped_states_give_the_heads_logits(head, classes, has_query):
    model = make("bilstm", classes=classes, has_query=has_query, head="linear" if head == "own" else head)
    if head == "own":
        model.head = Squares()
    seen = trace(model, make_batch(has_query))
    decoding = decoding_of(model.head, seen.encoded)
    assert (decoding.weight is None) == (head == "own")
    hidden = seen.encoded.hidden
    values = hidden if decoding.weight is None else hidden @ decoding.weight.transpose(-1, -2)
    sums = seen.attention[:, None] @ values
    torch.testing.assert_close(decoding.finish(sums)[:, 0], seen.logits, atol=1e-14, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("head", HEADS)
def test_heads_may_lack_a_bias(head):
    model = make("bilstm", head=head, head_bias=False)
    seen = trace(model, make_batch())
    decoding = decoding_of(model.head, seen.encoded)
    assert decoding.weight is not None
    sums = seen.attention[:, None] @ seen.encoded.hidden @ decoding.weight.T
    torch.testing.assert_close(decoding.finish(sums)[:, 0], seen.logits, atol=1e-14, rtol=0)
