"""Problems of single texts with any number of classes, and attention within their limits."""

import torch
from torch import Tensor

from heedful.exact.polytope import Limits, TextProblem, text_problem
from support.exact_strategies import random_rows


def some_problem(count: int, classes: int, seed: int, eps: float) -> TextProblem:
    rows = random_rows(batch=1, count=count, classes=classes, seed=seed)
    return text_problem(rows.attention[0], rows.item_logits[0], eps)


def attentions(problem: TextProblem, seed: int, number: int = 4000) -> Tensor:
    """Random attentions, from sparse to uniform, near the base and far from it."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(number, problem.weight.numel(), generator=generator, dtype=torch.float64).log().neg()
    drawn = drawn ** torch.tensor([1.0, 5.0]).repeat(number // 2).unsqueeze(-1)
    near = torch.rand(number, 1, generator=generator, dtype=torch.float64) ** 4
    return problem.weight + near * (drawn / drawn.sum(-1, keepdim=True) - problem.weight)


def keeps(problem: TextProblem, limits: Limits, attention: Tensor, slack: float = 1e-9) -> Tensor:
    """Whether some c puts every u - c between the limits."""
    logits = attention @ problem.logits
    return (logits - limits.high).amax(-1) <= (logits - limits.low).amin(-1) + slack
