"""Random texts of up to five items for `brute_force.py`, and what its checks share."""

from dataclasses import dataclass
from math import inf, nan

import torch
from torch import Tensor
from torch.nn.functional import pad

import heedful.exact as exact

BATCH, LONGEST, EPS, RADIUS = 500, 5, 0.05, 0.15
NORMS: tuple[exact.Norm, ...] = ("l1", "l2", "linf")
ORDER = {"l1": 1, "l2": 2, "linf": inf}
# With three classes or more other attention is searched for: random attentions may beat it by so much on average.
MISSED = 2e-3


@dataclass(frozen=True)
class Cases:
    """Texts of the same length, without padding."""

    attention: Tensor
    logits: Tensor
    empty: Tensor
    log_attention: Tensor
    generator: torch.Generator

    @property
    def count(self) -> int:
        """Items in each text."""
        return self.attention.shape[1]

    @property
    def items(self) -> Tensor:
        """With a place without an item on either side, as in all that is passed to the functions under test."""
        return pad(torch.ones_like(self.attention).bool(), (1, 1))

    @property
    def linear(self) -> tuple[Tensor, Tensor, Tensor]:
        """Attention, item logits, items."""
        return pad(self.attention, (1, 1)), pad(self.logits, (0, 0, 1, 1), value=nan), self.items

    @property
    def full(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Attention, item logits, empty logits, items."""
        attention, logits, items = self.linear
        return attention, logits, self.empty, items

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)


Outcome = tuple[str, Tensor, float]
"""A label, the deviation of each case, and how large it may be."""


def draw_cases(size: int, count: int, classes: int, generator: torch.Generator) -> Cases:
    """Random texts: exact ties, no ties, and equal items, in turn."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def choice(values: list[float], *shape: int) -> Tensor:
        places = torch.randint(len(values), shape, generator=generator)
        return torch.tensor(values, dtype=torch.float64)[places]

    smooth = (choice([0.0, 1.0, 4.0], size, 1) * normal(size, count)).softmax(-1)
    sixteenths = torch.nn.functional.one_hot(torch.randint(count, (size, 16), generator=generator), count).double()
    halves = [i / 2 for i in range(-6, 7)]
    free = choice([0.5, 2.0, 6.0], size, 1, 1) * normal(size, count, classes)
    copied = torch.rand(size, count, 1, generator=generator) < 0.6
    kind = torch.arange(size)[:, None] % 3
    attention = torch.where(kind == 0, sixteenths.mean(1), smooth)
    equal = torch.where(copied, free[:, :1], free)
    logits = torch.where(
        kind[..., None] == 0, choice(halves, size, count, classes), torch.where(kind[..., None] == 1, free, equal)
    )
    empty = torch.where(kind == 0, choice(halves, size, classes), normal(size, classes))
    sharp = torch.where(
        kind == 1,
        choice([1.0, 30.0, 3000.0], size, 1) * normal(size, count),
        choice([0.0, 0.0, -1.0, -40.0, -800.0, -5000.0, -inf], size, count),
    )
    log_attention = torch.where(torch.rand(size, 1, generator=generator) < 0.5, attention.log(), sharp)
    return Cases(attention, logits, empty, log_attention, generator)


def difference(value: Tensor, reference: Tensor) -> Tensor:
    """The largest absolute difference of each case; undefined equals undefined, and infinite equals infinite."""
    apart = (value - reference).abs().nan_to_num(inf)
    same = (value.isnan() & reference.isnan()) | (value == reference)
    return apart.where(~same, 0.0).flatten(1).amax(-1) if value.ndim > 1 else apart.where(~same, 0.0)


def wrong(statement: Tensor) -> Tensor:
    """Infinite where a statement is false."""
    return torch.where(statement, 0.0, inf).double()


def js(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon divergence, by its definition."""
    m = (p + q) / 2
    return (torch.xlogy(p, p) + torch.xlogy(q, q) - 2 * torch.xlogy(m, m)).sum(-1) / 2


def moved(cases: Cases, points: Tensor) -> Tensor:
    """How far attentions [n point item] move the prediction."""
    base = (cases.attention.unsqueeze(1) @ cases.logits).softmax(-1)
    return ((points @ cases.logits).softmax(-1) - base).abs().sum(-1) / 2


def trials(cases: Cases, number: int, shares: int) -> Tensor:
    """Attentions to try: pairs of items on a grid of shares, and random attentions from sparse to uniform."""
    unit = torch.eye(cases.count).double()
    share = torch.linspace(0, 1, shares).double()[:, None, None, None]
    first, second = torch.triu_indices(cases.count, cases.count, 0)
    pairs = (share * unit[first] + (1 - share) * unit[second]).reshape(-1, cases.count)
    keys = torch.rand(len(cases.attention), number, cases.count, generator=cases.generator, dtype=torch.float64)
    drawn = keys.log().neg() ** torch.tensor([1.0, 6.0]).double().repeat(number // 2)[:, None]
    drawn = drawn / drawn.sum(-1, keepdim=True)
    return torch.cat([pairs.expand(len(keys), *pairs.shape), drawn], 1)


def pulled_in(cases: Cases, points: Tensor) -> Tensor:
    """From the base towards each point, as far as eps allows."""
    base = cases.attention.unsqueeze(1)
    inside = (moved(cases, points) <= EPS).double()
    outside = torch.ones_like(inside)
    for _ in range(30):
        middle = (inside + outside) / 2
        within = moved(cases, base + middle.unsqueeze(-1) * (points - base)) <= EPS
        inside, outside = middle.where(within, inside), outside.where(within, middle)
    return base + inside.unsqueeze(-1) * (points - base)
