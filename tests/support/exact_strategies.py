"""Ragged batches of attention, item logits and empty logits: with exact ties, without ties, or very sharp."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import inf

import torch
from hypothesis import strategies as st
from torch import Tensor

PARTS = 16
JUNK = float("nan")


@dataclass(frozen=True)
class LinearBatch:
    attention: Tensor
    item_logits: Tensor
    empty_logits: Tensor
    items: Tensor

    def linear(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.attention, self.item_logits, self.items

    def full(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.attention, self.item_logits, self.empty_logits, self.items

    def texts(self):
        """Each row alone, without padding: weights, item logits, empty logits, and the positions of its items."""
        for row, real in enumerate(self.items):
            yield (
                self.attention[row, real],
                self.item_logits[row, real],
                self.empty_logits[row],
                real.nonzero().flatten(),
            )


@st.composite
def lattice_rows(draw: st.DrawFn, classes: int = 2, max_items: int = 7, min_items: int = 1) -> LinearBatch:
    """Weights in sixteenths and logits in halves: sums are exact, so ties are ties, and many weights are 0."""
    counts = draw(st.lists(st.integers(min_items, max_items), min_size=1, max_size=3))
    attention, logits, empty = [], [], []
    for n in counts:
        cuts = sorted(draw(st.lists(st.integers(0, PARTS), min_size=n - 1, max_size=n - 1)))
        attention.append(torch.tensor([0, *cuts, PARTS]).diff().double() / PARTS)
        halves = draw(st.lists(st.integers(-6, 6), min_size=n * classes, max_size=n * classes))
        logits.append(torch.tensor(halves).reshape(n, classes).double() / 2)
        empty.append(torch.tensor(draw(st.lists(st.integers(-2, 2), min_size=classes, max_size=classes))).double() / 2)
    return _ragged(attention, logits, empty, draw(st.integers(0, 2)))


@st.composite
def smooth_rows(draw: st.DrawFn, classes: int = 2, max_items: int = 7, min_items: int = 1) -> LinearBatch:
    """Weights and logits without ties, from nearly uniform to nearly all weight on a single item."""
    counts = draw(st.lists(st.integers(min_items, max_items), min_size=1, max_size=3))
    peak, scale = draw(st.sampled_from([0.1, 1.0, 4.0])), draw(st.sampled_from([0.3, 2.0, 8.0]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**20)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    attention = [(peak * normal(n)).softmax(-1) for n in counts]
    logits = [scale * normal(n, classes) + normal(classes) for n in counts]
    return _ragged(attention, logits, [normal(classes) for _ in counts], draw(st.integers(0, 2)))


def any_rows(classes: int = 2, max_items: int = 7, min_items: int = 1) -> st.SearchStrategy[LinearBatch]:
    return lattice_rows(classes, max_items, min_items) | smooth_rows(classes, max_items, min_items)


def random_rows(batch: int, count: int, classes: int, seed: int, peak: float = 1.0) -> LinearBatch:
    """Full rows from a seed, for tests that need many rows or long rows."""
    generator = torch.Generator().manual_seed(seed)
    attention = (peak * torch.randn(batch, count, generator=generator, dtype=torch.float64)).softmax(-1)
    logits = 2 * torch.randn(batch, count, classes, generator=generator, dtype=torch.float64)
    empty = torch.randn(batch, classes, generator=generator, dtype=torch.float64)
    return LinearBatch(attention, logits, empty, torch.ones(batch, count, dtype=torch.bool))


@dataclass(frozen=True)
class LogBatch:
    """As a LinearBatch, but its weights by their logarithms, up to a constant for each row."""

    log_attention: Tensor
    item_logits: Tensor
    items: Tensor

    def logarithmic(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.log_attention, self.item_logits, self.items

    def texts(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Each row alone, without padding: log weights, item logits, and the positions of its items."""
        for row, real in enumerate(self.items):
            yield self.log_attention[row, real], self.item_logits[row, real], real.nonzero().flatten()


@st.composite
def sharp_rows(draw: st.DrawFn, classes: int = 2, max_items: int = 6) -> LogBatch:
    """Log weights up to 9,000 apart, many of them equal or -infinity, and few logits, so that items are equal too."""
    counts = draw(st.lists(st.integers(1, max_items), min_size=1, max_size=3))
    before, after, width = draw(st.integers(0, 2)), draw(st.integers(0, 2)), max(counts)
    shape = (len(counts), before + width + after)
    batch = LogBatch(
        torch.full(shape, -inf).double(), torch.full((*shape, classes), JUNK).double(), torch.zeros(shape) > 0
    )
    scores = st.sampled_from([0.0, 0.0, -1.0, -40.0, -700.0, -800.0, -5000.0, -5000.0, -9000.0, -inf])
    for row, n in enumerate(counts):
        real, constant = slice(before, before + n), draw(st.sampled_from([0.0, 250.0, -3000.0]))
        drawn = [draw(scores) for _ in range(n)]
        halves = draw(st.lists(st.integers(-3, 3), min_size=n * classes, max_size=n * classes))
        batch.log_attention[row, real] = torch.tensor(drawn).double() + constant
        batch.item_logits[row, real] = torch.tensor(halves).reshape(n, classes).double() / 2
        batch.items[row, real] = True
    return batch


def in_logs(rows: LinearBatch) -> LogBatch:
    return LogBatch(rows.attention.log(), rows.item_logits, rows.items)


def log_rows(classes: int = 2, max_items: int = 6) -> st.SearchStrategy[LogBatch]:
    return sharp_rows(classes, max_items) | any_rows(classes, max_items).map(in_logs)


class DecimalText:
    """A single text in decimals, where exp(-9000) is a number like any other: the reference for erasures."""

    def __init__(self, log_weight: Tensor, logits: Tensor) -> None:
        self.weight = [Decimal(score).exp() if score > -inf else Decimal(0) for score in log_weight.tolist()]
        self.logits = [[Decimal(value) for value in row] for row in logits.tolist()]
        self.classes = logits.shape[1]

    def left(self, gone: set[int]) -> list[int]:
        return [item for item, weight in enumerate(self.weight) if weight and item not in gone]

    def logits_without(self, gone: set[int]) -> Tensor:
        """Drop, renormalise, decode; NaN where no weight is left."""
        left = self.left(gone)
        if not left:
            return torch.full((self.classes,), JUNK).double()
        total = sum(self.weight[item] for item in left)
        sums = [sum(self.weight[item] * self.logits[item][k] for item in left) for k in range(self.classes)]
        return torch.tensor([float(value / total) for value in sums], dtype=torch.float64)

    def decision_without(self, gone: set[int]) -> int | None:
        """The first largest class, where sums that agree to ten digits are equal; None where no weight is left."""
        left, best = self.left(gone), 0
        for k in range(1, self.classes):
            leads = [self.weight[item] * (self.logits[item][k] - self.logits[item][best]) for item in left]
            if sum(leads) > Decimal("1e-10") * sum(abs(lead) for lead in leads):
                best = k
        return best if left else None


def padded(rows: LinearBatch, columns: int = 3) -> LinearBatch:
    """The same rows with `columns` more positions on the right that hold only junk."""
    batch, _, classes = rows.item_logits.shape
    return LinearBatch(
        torch.cat([rows.attention, torch.zeros(batch, columns).double()], 1),
        torch.cat([rows.item_logits, torch.full((batch, columns, classes), JUNK).double()], 1),
        rows.empty_logits,
        torch.cat([rows.items, torch.zeros(batch, columns, dtype=torch.bool)], 1),
    )


def one_row(rows: LinearBatch, row: int) -> LinearBatch:
    """A single row as a batch."""
    lookup = slice(row, row + 1)
    return LinearBatch(rows.attention[lookup], rows.item_logits[lookup], rows.empty_logits[lookup], rows.items[lookup])


def _ragged(attention: list[Tensor], logits: list[Tensor], empty: list[Tensor], before: int) -> LinearBatch:
    """A batch of the rows, after `before` positions without an item (such as a start symbol), junk in the rest."""
    width = before + max(len(weights) for weights in attention)
    shape = (len(attention), width, logits[0].shape[1])
    rows = LinearBatch(
        torch.zeros(shape[:2]).double(),
        torch.full(shape, JUNK).double(),
        torch.stack(empty),
        torch.zeros(shape[:2]) > 0,
    )
    for row, (weights, scores) in enumerate(zip(attention, logits, strict=True)):
        real = slice(before, before + len(weights))
        rows.attention[row, real], rows.item_logits[row, real], rows.items[row, real] = weights, scores, True
    return rows
