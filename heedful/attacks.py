"""Perturbations of embeddings, attention weights and scores: sampled from a ball, or the worst that ascent finds.

A ball bounds a whole text: all coordinates of its embeddings, or of its weights, count as one vector. What is not
`movable` (padding, for example) stays as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import SettingError, lookup
from heedful.exact import Norm
from heedful.exact.ball import project_on_simplex, steepest_free

Objective = Callable[[Float[Tensor, "batch *place"]], Float[Tensor, " batch"]]
"""What a perturbation does to each text; no text's value may depend on another's perturbation."""

NORMS: dict[str, Norm] = {"l1": "l1", "l2": "l2", "linf": "linf"}
_ORDERS = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
# Laplace and normal samples, scaled to length 1, lie uniformly on the surface of the l1 and of the l2 ball.
_SAMPLERS: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "l1": lambda blank, generator: (
        blank.exponential_(generator=generator) * (1 - 2 * torch.empty_like(blank).bernoulli_(generator=generator))
    ),
    "l2": lambda blank, generator: blank.normal_(generator=generator),
    "linf": lambda blank, generator: blank.uniform_(-1, 1, generator=generator),
}


@dataclass(frozen=True)
class Ball:
    """All perturbations of a text that are no larger than `radius` in the norm.

    Args:
        radius: one for all texts, or one per text.
    """

    radius: float | Float[Tensor, " batch"]
    norm: Norm


def ball_of(radius: float, norm: str) -> Ball:
    """The ball that a user's options describe.

    >>> ball_of(-1.0, "linf")
    Traceback (most recent call last):
    heedful.errors.SettingError: radius must be 0 or more; it was -1.0. It bounds a perturbation; try 0.01.
    """
    if not radius >= 0:
        raise SettingError(f"radius must be 0 or more; it was {radius}. It bounds a perturbation; try 0.01.")
    return Ball(radius, lookup("norm", norm, NORMS))


def project(point: Float[Tensor, "batch *place"], ball: Ball) -> Float[Tensor, "batch *place"]:
    """The nearest perturbation, by Euclidean distance, that lies in the ball.

    >>> project(torch.tensor([[3.0, -4.0]]), Ball(2.0, "l2")), project(torch.tensor([[3.0, -4.0]]), Ball(2.0, "l1"))
    (tensor([[ 1.2000, -1.6000]]), tensor([[ 0.5000, -1.5000]]))
    """
    flat = point.flatten(1)
    radius = _radius_of(ball, flat)
    if ball.norm == "linf":
        return flat.clamp(-radius, radius).reshape(point.shape)
    size = torch.linalg.vector_norm(flat, _ORDERS[ball.norm], dim=-1, keepdim=True)
    if ball.norm == "l2":
        surface = on_surface(flat, ball)
    else:
        surface = flat.sign() * project_on_simplex(flat.abs(), torch.ones_like(flat, dtype=torch.bool), radius)
    return flat.where(size <= radius, surface).reshape(point.shape)


def on_surface(change: Float[Tensor, "batch *place"], ball: Ball) -> Float[Tensor, "batch *place"]:
    """The change in its direction, as large as the ball lets it be; 0 stays 0.

    >>> on_surface(torch.tensor([[3.0, -4.0]]), Ball(2.0, "linf"))
    tensor([[ 1.5000, -2.0000]])
    """
    flat = change.flatten(1)
    size = torch.linalg.vector_norm(flat, _ORDERS[ball.norm], dim=-1, keepdim=True)
    return (flat * _radius_of(ball, flat) / size.where(size > 0, 1.0)).reshape(change.shape)


def draw(
    movable: Bool[Tensor, "batch *place"], ball: Ball, generator: torch.Generator, dtype: torch.dtype
) -> Float[Tensor, "batch *place"]:
    """Perturbations sampled uniformly from the ball over the movable coordinates; 0 elsewhere.

    >>> movable = torch.tensor([[True, True, False]])
    >>> sample = draw(movable, Ball(0.1, "l2"), torch.Generator().manual_seed(0), torch.float32)
    >>> sample[0, 2].item(), bool(sample.norm() <= 0.1)
    (0.0, True)
    """
    mask = movable.flatten(1)
    samples = _SAMPLERS[ball.norm](torch.empty(mask.shape, dtype=dtype, device=generator.device), generator)
    samples = samples.to(mask.device).where(mask, 0.0)
    if ball.norm != "linf":
        size = torch.linalg.vector_norm(samples, _ORDERS[ball.norm], dim=-1, keepdim=True)
        depth = torch.rand(len(mask), 1, generator=generator, dtype=dtype, device=generator.device).to(mask.device)
        samples = samples / size.where(size > 0, 1.0) * depth ** (1 / mask.sum(-1, keepdim=True).clamp_min(1))
    return (_radius_of(ball, samples) * samples).reshape(movable.shape)


def slope(objective: Objective, point: Float[Tensor, "batch *place"]) -> Float[Tensor, "batch *place"]:
    """The gradient of each text's value at the perturbation; no parameter's gradient is touched.

    >>> slope(lambda point: point.square().sum(-1), torch.tensor([[1.0, -2.0]]))
    tensor([[ 2., -4.]])
    """
    # cudnn's recurrent layers can run backward only in training mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        point = point.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(objective(point).sum(), point)
    return gradient


def ascend(
    objective: Objective,
    start: Float[Tensor, "batch *place"],
    movable: Bool[Tensor, "batch *place"],
    ball: Ball,
    *,
    steps: int = 10,
    length: float | None = None,
    keep: Callable[[Tensor], Tensor] = lambda point: point,
) -> Float[Tensor, "batch *place"]:
    """The perturbation that projected gradient ascent ends with: a lower bound on the worst in the ball.

    point <- keep(project(point + length x radius x steepest)), where steepest is the direction of length 1 in the
    ball's norm along which the gradient rises most: its sign (linf), itself at length 1 (l2), one coordinate (l1).

    Madry et al. (2018, arXiv:1706.06083, section 2.1), with the step size of Hu et al.'s (2023) published code.

    Args:
        start: where the ascent begins: no perturbation where the gradient is not 0 there, or one from `draw`.
        length: length of a step, in radii; 2 / steps if not given.
        keep: what every iterate must satisfy beyond the ball.

    >>> fall = lambda point: point @ torch.tensor([1.0, -3.0])
    >>> ascend(fall, torch.zeros(1, 2), torch.tensor([[True, True]]), Ball(0.5, "linf"))
    tensor([[ 0.5000, -0.5000]])
    """
    mask, point = movable.flatten(1), start.detach()
    for _ in range(steps):
        stride = 2 / steps if length is None else length
        direction = steepest_free(slope(objective, point).flatten(1), mask, 1.0, ball.norm)
        moved = point.flatten(1) + stride * _radius_of(ball, direction) * direction
        point = keep(project(moved.reshape(point.shape), ball))
    return point


def clamped_change(
    change: Float[Tensor, "batch time embed"],
    embedded: Float[Tensor, "batch time embed"],
    movable: Bool[Tensor, "batch time embed"],
) -> Float[Tensor, "batch time embed"]:
    """The change after which every coordinate of the embeddings is between 0 and 1, as in Hu et al.'s (2023) code.

    >>> clamped_change(torch.tensor([[[0.1, 0.1]]]), torch.tensor([[[-2.0, 0.5]]]), torch.tensor([[[True, True]]]))
    tensor([[[2.0000, 0.1000]]])
    """
    return ((embedded + change).clamp(0, 1) - embedded).where(movable, 0.0)


def tilt(attention: Float[Tensor, "batch item"], change: Float[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """The attention that perturbed scores give: softmax(scores + change), from the attention softmax(scores).

    attention x exp(change), scaled to sum to 1. What is 0 stays 0. Where a model has a temperature, the change is that
    of score / temperature.

    >>> tilt(torch.tensor([[0.5, 0.5]]), torch.tensor([[0.0, 3.0]]).log1p())
    tensor([[0.2000, 0.8000]])
    """
    weights = attention * (change - change.amax(-1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


def _radius_of(ball: Ball, flat: Float[Tensor, "batch n"]) -> Float[Tensor, "batch 1"]:
    return torch.as_tensor(ball.radius, dtype=flat.dtype, device=flat.device).reshape(-1, 1).expand(len(flat), 1)
