"""LIME: the coefficients of a model that is linear, nothing on padding, repeatable."""

import torch

from heedful.attribution.lime import lime
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of
from support.models import make, make_batch


def seeded():
    return torch.Generator().manual_seed(0)


def test_where_words_add_up_it_finds_what_each_adds():
    """A ridge of 1 on 2,000 variants shrinks little."""
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3, label=0))
    wanted = -torch.tensor([[1.0, -1.5, 0.25]]).double()
    torch.testing.assert_close(lime(model, seen, seeded(), samples=2_000), wanted, atol=0.06, rtol=0)


def test_only_items_have_a_weight_and_the_generator_decides():
    model = make("hierarchical")
    seen = trace(model, make_batch())
    first, again = (lime(model, seen, seeded(), samples=30) for _ in range(2))
    assert torch.equal(first, again) and first.isfinite().all()
    assert (first[~seen.encoded.items] == 0).all() and (first[seen.encoded.items] != 0).all()
