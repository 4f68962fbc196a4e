"""Ragged batches of attention, item logits and empty logits: with exact ties, or without ties."""

from dataclasses import dataclass

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
    pick = slice(row, row + 1)
    return LinearBatch(rows.attention[pick], rows.item_logits[pick], rows.empty_logits[pick], rows.items[pick])


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
