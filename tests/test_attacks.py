"""Balls, ascent and the ways back into a model."""

import pytest
import torch
from torch import Tensor

from heedful.attacks import Ball, ascend, ball_of, draw, project, slope, tilt
from heedful.errors import SettingError
from heedful.exact import Norm
from heedful.exact.ball import steepest_free
from heedful.models.attention import masked_softmax
from heedful.models.trace import detached, rerun, trace
from support.models import make, make_batch

NORMS: list[Norm] = ["l1", "l2", "linf"]
ORDERS = {"l1": 1, "l2": 2, "linf": torch.inf}
RADII = torch.tensor([0.5, 0.0, 2.0]).double()
MOVABLE = (torch.arange(7) < torch.tensor([7, 4, 1])[:, None]).unsqueeze(-1).expand(3, 7, 5)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def size(point: Tensor, norm: Norm) -> Tensor:
    return torch.linalg.vector_norm(point.flatten(1), ORDERS[norm], dim=-1)


def test_a_projection_lies_in_its_own_texts_ball_and_what_lies_in_it_stays():
    for norm in NORMS:
        point, ball = normal(3, 7, 5), Ball(RADII, norm)
        actual = project(point, ball)
        assert actual.shape == point.shape
        torch.testing.assert_close(size(actual, norm), RADII, atol=1e-12, rtol=1e-12)
        inside = point * (0.9 * RADII / size(point, norm))[:, None, None]
        torch.testing.assert_close(project(inside, ball), inside, atol=1e-15, rtol=1e-15)


def test_the_projection_is_the_nearest_point():
    """Seen from the projection, no point of the ball lies on the side of what was projected."""
    for norm in NORMS:
        point, ball = normal(3, 11), Ball(RADII, norm)
        actual = project(point, ball)
        for seed in range(1, 100):
            other = project(10 * normal(3, 11, seed=seed), ball)
            assert (((point - actual) * (other - actual)).sum(-1) <= 1e-12).all()


def test_draws_fill_the_ball_evenly():
    """In n dimensions (size / radius)^n is uniform, so its mean is 1/2 (+- 4 standard errors of 20,000 draws)."""
    for norm in NORMS:
        movable = torch.tensor([True, True, True, False, True]).expand(20_000, 5)
        actual = draw(movable, Ball(0.3, norm), torch.Generator().manual_seed(0), torch.float64)
        depth = size(actual, norm) / 0.3
        assert (depth <= 1 + 1e-12).all() and not actual[:, 3].any()
        assert depth.pow(4).mean().item() == pytest.approx(0.5, abs=4 / (12 * 20_000) ** 0.5)
        assert actual.mean(0).abs().max() < 0.3 * 4 / 20_000**0.5
        # E x^2 of one coordinate of the unit ball: 1/3 (linf), 1/(n + 2) (l2), 2/((n + 1)(n + 2)) (l1)
        wanted = {"linf": 1 / 3, "l2": 1 / 6, "l1": 2 / 30}[norm]
        assert (actual[:, 0] / 0.3).square().mean().item() == pytest.approx(wanted, rel=0.05)


def test_draws_come_from_the_generator_alone_and_take_each_texts_radius():
    once, again = (draw(MOVABLE, Ball(RADII, "l2"), torch.Generator().manual_seed(1), torch.float32) for _ in range(2))
    assert torch.equal(once, again) and once.dtype == torch.float32
    assert not once[1].any() and not once[~MOVABLE].any()
    assert size(once, "l2")[0] <= 0.5 + 1e-6


def test_nothing_to_move_is_not_moved():
    for norm in NORMS:
        actual = draw(torch.zeros(2, 3).bool(), Ball(1.0, norm), torch.Generator(), torch.float64)
        assert actual.shape == (2, 3) and not actual.any()


@pytest.mark.parametrize("norm", NORMS)
def test_ascent_of_a_linear_function_ends_at_the_steepest_point(norm):
    """Steps of 2 radius / steps in all reach twice as far as the ball does."""
    gain = normal(3, 7, 5).where(MOVABLE, 9.0)

    def objective(point):
        return (point * gain).flatten(1).sum(-1)

    start = draw(MOVABLE, Ball(RADII, norm), torch.Generator().manual_seed(0), torch.float64)
    actual = ascend(objective, start, MOVABLE, Ball(RADII, norm), steps=200)
    best = steepest_free(gain.flatten(1), MOVABLE.flatten(1), 1.0, norm).reshape(gain.shape) * RADII[:, None, None]
    assert not actual[~MOVABLE].any()
    assert (size(actual, norm) <= RADII + 1e-12).all()
    torch.testing.assert_close(objective(actual), objective(best), atol=1e-9, rtol=1e-3)


def test_every_step_is_two_radii_over_the_number_of_steps_and_kept():
    seen = []

    def keep(point):
        seen.append(point)
        return point.clamp_max(0.3)

    gain = torch.tensor([[1.0, -2.0]]).double()
    actual = ascend(
        lambda point: (point * gain).sum(-1), torch.zeros(1, 2).double(), torch.ones(1, 2).bool(), Ball(0.5, "linf"),
        steps=5, keep=keep,
    )  # fmt: skip
    torch.testing.assert_close(seen[0], torch.tensor([[0.2, -0.2]]).double())
    torch.testing.assert_close(actual, torch.tensor([[0.3, -0.5]]).double())


def test_texts_do_not_feel_their_neighbours_and_no_steps_leave_the_start():
    gain = normal(3, 5)

    def objective(rows):
        return lambda point: (point * gain[rows]).sum(-1).sin()

    start, movable = 0.1 * normal(3, 5, seed=2), torch.ones(3, 5).bool()
    together = ascend(objective(slice(None)), start, movable, Ball(0.4, "l2"))
    for row in range(3):
        rows = slice(row, row + 1)
        alone = ascend(objective(rows), start[rows], movable[rows], Ball(0.4, "l2"))
        torch.testing.assert_close(alone, together[rows], atol=1e-14, rtol=0)
    assert torch.equal(ascend(objective(slice(None)), start, movable, Ball(0.4, "l2"), steps=0), start)


def test_a_slope_is_found_without_gradients_switched_on_and_leaves_none():
    model, batch = make(), make_batch()
    with torch.no_grad():
        seen = trace(model, batch)
        actual = slope(lambda change: rerun(model, seen, change).logits[:, 1], torch.zeros_like(seen.embedded))
    assert actual.any() and not actual.requires_grad and not actual[~batch.mask].any()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_tilted_attention_is_the_softmax_of_moved_scores_with_its_gradient():
    scores, change, items = normal(3, 7).requires_grad_(), 5 * normal(3, 7, seed=1), MOVABLE[..., 0]
    actual = tilt(masked_softmax(scores, items), change)
    wanted = masked_softmax(scores + change, items)
    torch.testing.assert_close(actual, wanted, atol=1e-12, rtol=0)
    slopes = [torch.autograd.grad((weights * normal(3, 7, seed=2)).sum(), scores)[0] for weights in (actual, wanted)]
    torch.testing.assert_close(*slopes, atol=1e-12, rtol=0)
    assert tilt(torch.tensor([[0.5, 0.5]]), torch.tensor([[200.0, 0.0]])).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("kind", [{}, {"encoder": "hierarchical"}, {"has_query": True, "attention": "dot"}])
def test_reading_again_is_reading_other_embeddings(kind):
    model, batch = make(**kind), make_batch(kind.get("has_query", False))
    seen = trace(model, batch)
    same = rerun(model, seen, torch.zeros_like(seen.embedded))
    assert torch.equal(same.logits, seen.logits) and torch.equal(same.attention, seen.attention)
    with torch.no_grad():
        model.embedding.weight.add_(0.3)
    shifted = rerun(model, seen, torch.full_like(seen.embedded, 0.3))
    if "has_query" not in kind:  # the query's embeddings were shifted as well
        torch.testing.assert_close(shifted.logits, trace(model, batch).logits, atol=1e-12, rtol=0)
    assert not torch.equal(shifted.scores, seen.scores)


def test_detached_states_lead_nowhere():
    encoded = detached(trace(make(has_query=True), make_batch(True)).encoded)
    assert encoded.query is not None
    assert not encoded.hidden.requires_grad and not encoded.query.requires_grad


def test_balls_that_mean_nothing_are_refused():
    assert ball_of(0.1, "l1") == Ball(0.1, "l1")
    with pytest.raises(SettingError, match="unknown norm 'l4'. Known: l1, l2, linf"):
        ball_of(0.1, "l4")
    with pytest.raises(SettingError, match="radius must be 0 or more; it was nan"):
        ball_of(float("nan"), "l2")
