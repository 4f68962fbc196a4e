"""Attention of the same model from other seeds."""

import pytest
import torch

from heedful.battery.seeds import seeds
from heedful.exact import expected_permuted_js
from heedful.measures import js_divergence
from heedful.models.trace import trace
from support.models import make, make_batch


@pytest.fixture(scope="module")
def traces():
    batch = make_batch()
    models = []
    for seed in range(3):
        models.append(make(encoder="bilstm").eval())
        generator = torch.Generator().manual_seed(seed)
        for parameter in models[-1].parameters():
            torch.nn.init.normal_(parameter, generator=generator)
    with torch.no_grad():
        return [trace(model, batch) for model in models]


def test_the_largest_difference_is_that_of_the_farthest_seed(traces):
    values = seeds(traces[0], traces[1:]).values
    items = traces[0].encoded.items
    each = torch.stack([js_divergence(other.attention, traces[0].attention, items) for other in traces[1:]])
    assert torch.equal(values["max_js"], each.amax(0))
    assert torch.allclose(values["mean_js"], each.mean(0))
    assert (values["max_js"] > 0).any()


def test_the_floor_is_attention_permuted_at_random(traces):
    shuffled = seeds(traces[0], traces[1:]).values["shuffled_js"]
    torch.testing.assert_close(shuffled, expected_permuted_js(traces[0].attention, traces[0].encoded.items))
    assert shuffled[-1] == 0  # one item can go nowhere


def test_decisions_that_differ_are_counted(traces):
    first, other = traces[0], traces[1]
    share = (first.logits.argmax(-1) != other.logits.argmax(-1)).double()
    assert torch.equal(seeds(first, [other, first]).values["flips"], share / 2)
