"""SmoothGrad: no noise is the plain gradient; noise draws from the generator alone."""

import torch

from heedful.attribution.gradient_x_input import gradient_x_input
from heedful.attribution.smoothgrad import smoothgrad
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of
from support.evidence import seeded
from support.models import make, make_batch


def test_without_noise_it_is_gradient_x_input():
    model = make("bilstm")
    seen = trace(model, make_batch())
    torch.testing.assert_close(smoothgrad(model, seen, seeded(), draws=3, share=0.0), gradient_x_input(model, seen))


def test_noise_changes_nothing_where_the_odds_are_linear_in_the_embeddings():
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3))
    torch.testing.assert_close(smoothgrad(model, seen, seeded(), share=3.0), gradient_x_input(model, seen))


def test_noise_changes_something_elsewhere_and_repeats_with_the_generator():
    model = make("bilstm", classes=5)
    seen, state = trace(model, make_batch()), torch.get_rng_state()
    first, again, other = (smoothgrad(model, seen, seeded(seed), draws=4) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.allclose(first, other)
    assert torch.equal(state, torch.get_rng_state())
    assert (first[~seen.encoded.items] == 0).all() and not first.requires_grad


def test_more_draws_come_closer_to_each_other():
    model = make("bilstm", classes=5)
    seen = trace(model, make_batch())
    gaps = []
    for draws in (2, 50):
        one_way, other_way = (smoothgrad(model, seen, seeded(seed), draws=draws, share=0.5) for seed in (1, 2))
        gaps.append((one_way - other_way).abs().mean().item())
    assert gaps[1] < gaps[0] / 2
