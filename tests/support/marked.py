"""Texts with marked items: hypothesis generators, a batch that carries marks, and plain reference implementations."""

import gzip
import json
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from heedful.types import Batch
from support.folders import outside
from support.strategies import masks, scores

GOLDEN, POSTS = "HEEDFUL_GOLDEN/hatexplain_birnn.json.gz", "HEEDFUL_DATA/hatexplain/test.jsonl.gz"
needs_golden_posts = pytest.mark.data(GOLDEN, POSTS)


@st.composite
def marked_scores(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, marks and the mask of a ragged batch; marks beyond the mask are junk."""
    mask = draw(masks())
    flat = draw(st.lists(st.booleans(), min_size=mask.numel(), max_size=mask.numel()))
    return draw(scores(mask)), torch.tensor(flat).reshape(mask.shape), mask


def with_marks(batch: Batch, marks: Tensor | None) -> Batch:
    return replace(batch, marks=marks)


def orders_of(values: list[float]) -> list[list[int]]:
    """Every order of the items from the largest value to the smallest: equal ones in any."""
    return [
        list(order)
        for order in permutations(range(len(values)))
        if all(values[a] >= values[b] for a, b in zip(order, order[1:], strict=False))
    ]


def subsets_of(n: int, k: int) -> Tensor:
    """All sets of k of n items, [set item]."""
    return torch.tensor([[item in chosen for item in range(n)] for chosen in combinations(range(n), k)])


def rows_of(*tensors: Tensor):
    """The real items of each row of several tensors, the last being the mask."""
    *values, mask = tensors
    for row, real in enumerate(mask):
        yield [value[row][real].tolist() for value in values]


def runs_of(flags: list[bool]) -> list[tuple[int, int]]:
    """[start, end) of each run of True."""
    starts = [i for i, flag in enumerate(flags) if flag and (i == 0 or not flags[i - 1])]
    ends = [i + 1 for i, flag in enumerate(flags) if flag and (i + 1 == len(flags) or not flags[i + 1])]
    return list(zip(starts, ends, strict=True))


def spans_matched(chosen: list[tuple[int, int]], marked: list[tuple[int, int]], threshold: float = 0.5) -> int:
    """How many of the chosen spans have an IOU of at least the threshold with a marked one: sets, one by one."""
    count = 0
    for start, end in chosen:
        best = 0.0
        for first, last in marked:
            own, other = set(range(start, end)), set(range(first, last))
            best = max(best, len(own & other) / len(own | other))
        count += best >= threshold
    return count


@dataclass(frozen=True)
class GoldenPosts:
    """A published model's attention on HateXplain's test posts, with what ERASER's own script made of it."""

    scores: list[list[float]]
    marks: list[list[bool]]
    chosen: list[list[int]]
    official: dict

    def padded(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Scores, marks, the chosen items, mask."""
        sizes = torch.tensor([len(row) for row in self.scores])
        mask = torch.arange(int(sizes.max())) < sizes[:, None]
        values, marks = torch.zeros(mask.shape, dtype=torch.float64), torch.zeros_like(mask)
        values[mask] = torch.tensor([score for row in self.scores for score in row], dtype=torch.float64)
        marks[mask] = torch.tensor([mark for row in self.marks for mark in row])
        chosen = torch.zeros_like(mask)
        for row, items in enumerate(self.chosen):
            chosen[row, items] = True
        return values, marks, chosen, mask


def golden_posts() -> GoldenPosts:
    """The posts that are cut into the same words as ours."""
    with gzip.open(outside(GOLDEN), "rt", encoding="utf-8") as file:
        golden = json.load(file)
    with gzip.open(outside(POSTS), "rt", encoding="utf-8") as file:
        posts = {post["id"]: post for post in map(json.loads, file)}
    texts = [text for text in golden["texts"] if len(posts[text["id"]]["text"].split(" ")) == len(text["soft"])]
    marks = []
    for text in texts:
        spans = posts[text["id"]]["rationale"]
        marks.append([any(start <= i < end for start, end in spans) for i in range(len(text["soft"]))])
    chosen = [[start for start, _ in text["hard"]] for text in texts]
    return GoldenPosts([text["soft"] for text in texts], marks, chosen, golden["official"])
