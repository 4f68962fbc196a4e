"""All hypothesis generators: ragged batches of masks, distributions and scores.

Everything is float64 on at most 5 rows of at most 11 items, each row with at least 1 real item. Real items stand
anywhere in a row, as they do between start and end symbols; `padded` adds columns that nothing may notice.
"""

import torch
from hypothesis import strategies as st
from torch import Tensor

JUNK = 7.0


@st.composite
def masks(draw: st.DrawFn, min_items: int = 1) -> Tensor:
    """Where a ragged batch has items; each row at least `min_items`, anywhere."""
    batch, item = draw(st.integers(1, 5)), draw(st.integers(min_items, 11))
    rows = []
    for _ in range(batch):
        real = draw(st.sets(st.integers(0, item - 1), min_size=min_items))
        rows.append([position in real for position in range(item)])
    return torch.tensor(rows)


@st.composite
def distributions(draw: st.DrawFn, mask: Tensor) -> Tensor:
    """Rows that sum to 1 over the mask and are exactly 0 elsewhere; real items may be 0 too, or very small."""
    weight = st.just(0.0) | st.sampled_from([1e-300, 1e-12, 1.0]) | st.floats(1e-6, 1.0)
    weights = values_at_items(draw, weight, mask)
    empty = weights.sum(-1, keepdim=True) == 0
    weights = torch.where(empty & mask, 1.0, weights)
    return weights / weights.sum(-1, keepdim=True)


@st.composite
def distribution_pairs(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Two distributions over the same items, some rows of the second equal to the first; and the mask."""
    mask = draw(masks())
    p, q = draw(distributions(mask)), draw(distributions(mask))
    same = torch.tensor(draw(st.lists(st.booleans(), min_size=len(mask), max_size=len(mask))))
    return p, torch.where(same.unsqueeze(-1), p, q), mask


@st.composite
def scores(draw: st.DrawFn, mask: Tensor) -> Tensor:
    """A score per item, half of the time with many ties; junk where there is no item."""
    score = draw(st.sampled_from([st.integers(-2, 2).map(float), st.floats(-1e3, 1e3)]))
    return values_at_items(draw, score, mask).where(mask, JUNK)


@st.composite
def score_pairs(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Two scores for each of the same items, and the mask."""
    mask = draw(masks())
    return draw(scores(mask)), draw(scores(mask)), mask


@st.composite
def text_values(draw: st.DrawFn, min_texts: int = 2) -> Tensor:
    """A value per text, of which some are undefined (NaN) but never all."""
    values = draw(st.lists(st.floats(-10, 10), min_size=min_texts, max_size=11))
    undefined = draw(st.integers(0, 3))
    return torch.tensor(values + [torch.nan] * undefined, dtype=torch.float64)


def values_at_items(draw: st.DrawFn, value: st.SearchStrategy[float], mask: Tensor) -> Tensor:
    """A number drawn for each real item, 0 elsewhere."""
    drawn = draw(st.lists(value, min_size=int(mask.sum()), max_size=int(mask.sum())))
    return torch.zeros(mask.shape, dtype=torch.float64).masked_scatter(mask, torch.tensor(drawn, dtype=torch.float64))


def padded(values: Tensor, columns: int = 3) -> Tensor:
    """The same tensor with columns added on the right: junk in values, False in a mask."""
    junk = False if values.dtype == torch.bool else JUNK
    return torch.cat([values, values.new_full((*values.shape[:-1], columns), junk)], dim=-1)
