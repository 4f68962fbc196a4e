"""Small linear programs of the same shape, solved together by the simplex method.

In numpy: hundreds of steps on tables of a few hundred numbers, where what a step costs is the call.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

# A program that is not solved by then is left at the corner it has reached.
STEPS = 80
# Smaller gains and smaller pivots count as 0.
NO_GAIN, NO_PIVOT = 1e-10, 1e-11


class Programs(NamedTuple):
    """Over distributions x, maximise x @ objective such that what x @ slope exceeds `room` by sums to at most eps."""

    objective: Float[np.ndarray, "n item"]
    slope: Float[np.ndarray, "n item classes"]
    room: Float[np.ndarray, "n classes"]
    eps: float


def solve(programs: Programs, first: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n item"]:
    """A corner with the largest objective of each program, from all weight on its item `first`.

    Where eps cannot be kept, the corner that exceeds it least.

    >>> slope = np.array([[[0.0], [1.0], [4.0]]])
    >>> solve(Programs(np.array([[0.0, 1.0, 3.0]]), slope, np.array([[1.0]]), eps=1.0), np.array([0]))
    array([[0.        , 0.66666667, 0.33333333]])
    """
    table, basis = _first_table(programs, first)
    count, classes = programs.slope.shape[1:]
    rows, shortfall = np.arange(len(first)), count + 2 * classes + 1
    for _ in range(STEPS):
        short = (basis[:, classes] == shortfall) & (table[:, classes, -1] > 1e-13)
        gains = np.where(short[:, None], table[:, -2, :-2], table[:, -1, :-2])
        entering = gains.argmax(1)
        column = table[rows, :, entering]
        limits = column[:, : classes + 2]
        usable = limits > NO_PIVOT
        ratio = np.where(usable, table[:, : classes + 2, -1] / np.where(usable, limits, 1.0), np.inf)
        leaving = ratio.argmin(1)
        moves = ((gains[rows, entering] > NO_GAIN) & np.isfinite(ratio[rows, leaving])).nonzero()[0]
        if not len(moves):
            break
        _pivot(table, column, moves, leaving[moves])
        basis[moves, leaving[moves]] = entering[moves]
    values = np.zeros((len(first), shortfall + 1))
    np.put_along_axis(values, basis, table[:, : classes + 2, -1], 1)
    result = values[:, :count].clip(0)
    return result / result.sum(1, keepdims=True)


def table_size(count: int, classes: int) -> int:
    """How many numbers the table of a single program has."""
    return (classes + 4) * (count + 2 * classes + 3)


def _pivot(
    table: Float[np.ndarray, "n row column"],
    column: Float[np.ndarray, "n row"],
    moves: Int[np.ndarray, " m"],
    leaving: Int[np.ndarray, " m"],
) -> None:
    """Gauss-Jordan elimination, in the table that `solve` made for itself."""
    pivot = table[moves, leaving] / column[moves, leaving][:, None]
    table[moves] -= column[moves][:, :, None] * pivot[:, None]
    table[moves, leaving] = pivot


def _first_table(
    programs: Programs, first: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n row column"], Int[np.ndarray, "n basic"]]:
    """The table with all weight on `first`, and its basis.

    Columns: items; by how much each class exceeds its room; by how much it falls short; what is left of eps; what is
    missing; right-hand side. Rows: classes; their sum; the sum of weights; gains for what is missing; gains.
    """
    n, count, classes = programs.slope.shape
    rows, each, left = np.arange(n), np.arange(classes), count + 2 * classes
    table = np.zeros((n, classes + 4, left + 3))
    own = programs.slope[rows, first]
    room = programs.room - own
    exceeds: Bool[np.ndarray, "n classes"] = room < 0
    sign = np.where(exceeds, -1.0, 1.0)
    table[:, :classes, :count] = (programs.slope - own[:, None]).transpose(0, 2, 1) * sign[..., None]
    table[:, each, count + each], table[:, each, count + classes + each] = -sign, sign
    table[:, :classes, -1] = room * sign
    table[:, classes, count : count + classes], table[:, classes, left] = 1.0, 1.0
    table[:, classes, left + 1], table[:, classes, -1] = -1.0, programs.eps
    table[:, classes] -= (table[:, :classes] * exceeds[..., None]).sum(1)
    short = table[:, classes, -1] < 0
    table[short, classes] *= -1
    table[:, classes + 1, :count], table[:, classes + 1, -1] = 1.0, 1.0
    table[short, classes + 2] = table[short, classes]
    table[:, classes + 3, :count] = programs.objective - programs.objective[rows, first][:, None]
    basis = np.where(exceeds, count + each, count + classes + each)
    return table, np.column_stack([basis, np.where(short, left + 1, left), first])
