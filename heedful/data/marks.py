"""What annotators marked, as tensors beside the tokens of a batch."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def encode_marks(
    annotators: Sequence[Sequence[int]], tokens: int, *, framed: bool = False
) -> Float[Tensor, "annotator time"]:
    """1 at the tokens that each annotator marked, 0 at the others.

    Args:
        annotators: positions of marked tokens, of each annotator.
        tokens: how many the text has.
        framed: whether a start and an end symbol stand around it, which nobody marks.

    >>> encode_marks([(0, 2), ()], 3)
    tensor([[1., 0., 1.], [0., 0., 0.]])
    """
    marks = torch.zeros(len(annotators), tokens)
    for row, positions in zip(marks, annotators, strict=True):
        row[list(positions)] = 1
    return torch.nn.functional.pad(marks, (1, 1)) if framed else marks


def pad_marks(rows: Sequence[Float[Tensor, "_ _"] | None], width: int) -> Float[Tensor, "batch annotator time"]:
    """The marks of several texts as one tensor: NaN for annotators that a text does not have, 0 on padding.

    Args:
        rows: as `encode_marks` gives them; None for a text that nobody marked.
        width: tokens of the longest text of the batch.

    >>> pad_marks([torch.tensor([[1.0, 0.0]]), None], 3)
    tensor([[[1., 0., 0.]], [[nan, nan, nan]]])
    """
    most = max((len(row) for row in rows if row is not None), default=0)
    padded = torch.full((len(rows), max(1, most), width), torch.nan)
    for place, row in enumerate(rows):
        if row is not None:
            padded[place, : len(row)] = torch.nn.functional.pad(row, (0, width - row.shape[1]))
    return padded
