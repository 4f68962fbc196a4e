"""Linear programs over the attentions whose logits lie in the convex hull of the predictions within eps, in batches.

The hull is the smallest convex set that has all predictions within eps, so what is proven for it holds for them. An
attention in it has two parts: weights of items that sum to 1, and weights of near predictions that sum to 1, with the
same logits. So a program has a column for each item and one for each near prediction, which are infinitely many; but
that with the most to gain has a closed form (see `furthest_change`) and is made when it is needed. The programs of
all texts are solved together by the revised simplex method: a basis of K + 1 columns, and its inverse. In numpy: tens
of steps on a few hundred numbers a text, where what a step costs is the calls.
"""

from math import log
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

# The divergence of attentions, item by item, in numpy: see adversary.py for the formula.

TINY = np.finfo(float).tiny


def times_log(x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Each x ln x; 0 at 0."""
    return x * np.log(x + TINY)


def overlap_loss(weight: Float[np.ndarray, "*#n"], share: Float[np.ndarray, "*#n"]) -> Float[np.ndarray, "..."]:
    """As `adversary.loss_of_overlap`: what an item with these two weights adds to the divergence less ln 2.

    >>> overlap_loss(np.array([0.5, 0.5]), np.array([0.0, 0.5])).round(4)
    array([ 0.    , -0.3466])
    """
    return (times_log(weight) + times_log(share) - times_log(weight + share)) / 2


def divergence(weight: Float[np.ndarray, "*#n item"], other: Float[np.ndarray, "*#n item"]) -> Float[np.ndarray, "..."]:
    """Jensen-Shannon divergence; items where `other` has no weight may be left out of both.

    >>> divergence(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0]])).round(4)
    array([0.3804])
    """
    return log(2) + overlap_loss(weight, other).sum(-1)


# The logits whose prediction is within eps of the base's in total variation: how far they reach in a direction.
#
# They are not a convex set, but how far they reach has a closed form. For a direction that sums to 0 (a constant
# added to all logits changes no prediction)
#
#     reach = max of the sum of direction x (ln q - ln p), over predictions q with TVD(q, p) <= eps.
#
# The classes with a positive direction share a rise of eps in all. The logarithm is concave: the rise goes where
# direction / q is largest, until it is level (water-filling). A fall of eps in all goes to classes with a negative
# direction. There the objective is convex in the fall, so a single class takes all of it. A class with p <= eps may
# fall to nothing, so that there is no bound where its direction is negative. In numpy, as the simplex method is.

# Within eps means below eps x (1 - SAFETY), so that another order of summation agrees.
SAFETY = 1e-9
# Rounding alone must not make a class that may just fall to nothing one that may not.
ALMOST = 1 + 1e-9
# The logarithm of a probability that has fallen this far is treated as that of 0.
LONG_FALL = 60.0


class NearPredictions(NamedTuple):
    """Base predictions p by their logarithms, the classes that may fall to nothing, and the fall of ln p by eps."""

    p: Float[np.ndarray, "n classes"]
    log_p: Float[np.ndarray, "n classes"]
    vanishing: Bool[np.ndarray, "n classes"]
    drop: Float[np.ndarray, "n classes"]
    eps: float

    def take(self, rows: Int[np.ndarray, " m"]) -> "NearPredictions":
        """Those of some texts."""
        p, log_p, vanishing, drop = (part.take(rows, 0) for part in self[:4])
        return NearPredictions(p, log_p, vanishing, drop, self.eps)


def near(log_p: Float[np.ndarray, "n classes"], eps: float) -> NearPredictions:
    """The predictions within eps of those given by their logarithms."""
    p = np.exp(log_p)
    vanishing = p <= eps * ALMOST
    return NearPredictions(p, log_p, vanishing, np.log1p(-eps / np.where(vanishing, np.inf, p)), eps)


def convex_part(near: NearPredictions, fall: Float[np.ndarray, "n classes"]) -> NearPredictions:
    """A convex set of predictions within eps, around a prediction within eps whose ln p has fallen by `fall`.

    A fall of ln p by x is a fall of p by p (1 - exp(-x)), which is concave. So their sum is at most its tangent at
    `fall`; where the tangent is at most eps, the sum is. Rises are convex as they are. Again one class takes all.
    """
    slope = near.p * np.exp(-fall)
    room = near.eps - (near.p - slope - slope * fall).sum(1, keepdims=True)
    drop = -np.clip(room / np.maximum(slope, TINY), 0, LONG_FALL)
    return near._replace(vanishing=np.zeros_like(near.vanishing), drop=drop)


def moved(near: NearPredictions, change: Float[np.ndarray, "n *any classes"]) -> Float[np.ndarray, "n *any"]:
    """How far the prediction moves in total variation when logits change."""
    shape = (len(near.p), *[1] * (change.ndim - 2), near.p.shape[1])
    logits = near.log_p.reshape(shape) + change
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return np.abs(raised / raised.sum(-1, keepdims=True) - near.p.reshape(shape)).sum(-1) / 2


def largest_margins(near: NearPredictions) -> Float[np.ndarray, "n classes classes"]:
    """The most by which the margin of class k over class l may grow, at [k, l]; infinite where l may vanish.

    >>> largest_margins(near(np.log([[0.5, 0.5]]), 0.1)).round(4)  # ln(0.6 / 0.5), ln(0.6 / 0.4)
    array([[[0.4055, 0.4055],
            [0.4055, 0.4055]]])
    """
    rise = np.log(near.p + near.eps) - near.log_p
    return rise[..., None] - np.where(near.vanishing, -np.inf, near.drop)[:, None]


def furthest_change(near: NearPredictions, direction: Float[np.ndarray, "n classes"]) -> Float[np.ndarray, "n classes"]:
    """The change of ln p that reaches furthest in a direction, without falls of the classes that may vanish.

    No change where no other class has a negative direction.

    >>> furthest_change(near(np.log([[0.5, 0.5]]), 0.1), np.array([[1.0, -1.0]])).round(4)
    array([[ 0.1823, -0.2231]])
    """
    rows = np.arange(len(direction))
    gains = np.minimum(direction, 0) * near.drop
    falling = gains.argmax(1)
    change = _risen(near, np.maximum(direction, 0))
    change[rows, falling] = near.drop[rows, falling]
    return change * (gains[rows, falling] > 0)[:, None]


def _risen(near: NearPredictions, slope: Float[np.ndarray, "n classes"]) -> Float[np.ndarray, "n classes"]:
    """The rise of ln p that gains most: q = max(p, slope x level), with the level at which the rises sum to eps.

    The rises of any set of classes sum to slopes x level - p, and those that rise have the largest sum. So the level is
    the least of (eps + sum of p) / (sum of slopes) over sets, and the best sets are the first by p / slope.
    """
    rows, order = np.arange(len(slope))[:, None], (near.p / np.maximum(slope, TINY)).argsort(1)
    slopes = np.maximum(slope[rows, order].cumsum(1), TINY)
    raised = slope * ((near.eps + near.p[rows, order].cumsum(1)) / slopes).min(1, keepdims=True)
    rising = raised > near.p
    return (np.log(np.where(rising, raised, 1.0)) - near.log_p) * rising


# What is in a basis that is no item: a near prediction, the base attention as a whole, the base prediction.
NEAR, BASE, CENTRE = -1, -2, -3
# A program that is not solved by then is left at the corner it has reached; its bound is a bound all the same.
STEPS = 200
# Smaller pivots count as 0; values that differ by less are equal, whatever rounding.
NO_PIVOT, EQUAL = 1e-10, 1e-12
# Programs are solved on together as long as at least this share of them moves.
MANY = 0.7


class Programs(NamedTuple):
    """One for each text; the class with the largest probability comes last.

    Args:
        columns: for each item, its margins over the last class, less those of the base, then 1 and 0.
        usable: False on items that may have no weight.
    """

    columns: Float[np.ndarray, "n item row"]
    usable: Bool[np.ndarray, "n item"]
    near: NearPredictions

    def take(self, rows: Int[np.ndarray, " m"]) -> "Programs":
        """Those of some texts."""
        return Programs(self.columns.take(rows, 0), self.usable.take(rows, 0), self.near.take(rows))


class Basis(NamedTuple):
    """The columns of a corner, what they are (an item, or NEAR, BASE, CENTRE), the inverse, and their weights."""

    columns: Float[np.ndarray, "n row row"]
    kind: Int[np.ndarray, "n row"]
    inverse: Float[np.ndarray, "n row row"]
    weight: Float[np.ndarray, "n row"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "Basis":
        """Those of some texts."""
        return Basis(*(part.take(rows, 0) for part in self))


class Gains(NamedTuple):
    """What a program maximizes: the sum of weights x gains, of items and of the two other kinds."""

    item: Float[np.ndarray, "n item"]
    base: float = -100.0
    centre: float = 0.0


class Proof(NamedTuple):
    """A bound on the sum of weights x gains, and how far below the bound it must be for each item's weight."""

    bound: Float[np.ndarray, " n"]
    below: Float[np.ndarray, "n item"]


def programs_of(
    base: Float[np.ndarray, "n item"],
    logits: Float[np.ndarray, "n item classes"],
    usable: Bool[np.ndarray, "n item"],
    eps: float,
) -> Programs:
    """The programs of texts with these base attentions."""
    u = np.einsum("ni,nik->nk", base, logits)
    last = u.argmax(1)
    order = (np.arange(u.shape[1]) == last[:, None]).argsort(1, kind="stable")
    u, change = np.take_along_axis(u, order, 1), np.take_along_axis(logits, order[:, None], 2)
    change = change - u[:, None]
    top = u.max(1, keepdims=True)
    log_p = u - top - np.log(np.exp(u - top).sum(1, keepdims=True))
    columns = np.zeros((*change.shape[:2], u.shape[1] + 1))
    columns[..., :-2] = change[..., :-1] - change[..., -1:]
    columns[..., -2] = 1
    return Programs(columns, usable, near(log_p, eps))


def first_basis(programs: Programs) -> Basis:
    """The base attention, and around the base prediction one near prediction for each class, whose logit falls."""
    p, eps = programs.near.p, programs.near.eps
    n, classes = p.shape
    fall = np.minimum(eps / np.maximum(p, np.finfo(float).tiny), 0.5) / 2
    drop = -np.log1p(-fall) + np.log1p(fall * p / np.maximum(1 - p, np.finfo(float).eps))
    columns, each = np.zeros((n, classes + 1, classes + 1)), np.arange(classes - 1)
    columns[:, 0, -2] = 1
    columns[:, 1 + each, each] = drop[:, :-1]
    columns[:, -1, :-2] = -drop[:, -1:]
    columns[:, 1:, -1] = 1
    kind = np.full((n, classes + 1), NEAR)
    kind[:, 0] = BASE
    inverse = np.linalg.inv(columns.transpose(0, 2, 1))
    return Basis(columns, kind, inverse, inverse[..., -2] + inverse[..., -1])


def maximise(
    programs: Programs, gains: Gains, start: Basis, *, no_gain: float = 1e-6, steps: int | None = None
) -> Basis:
    """The corner of each program with the largest sum of weights x gains, from the corner given.

    Args:
        no_gain: gains that count as 0.
        steps: after this number of steps a program is left where it is; None: `STEPS`.
    """
    basis = Basis(*(part.copy() for part in start))
    live, some, now, worth = np.arange(len(basis.kind)), programs, start, multipliers(gains, start)
    gains = gains._replace(item=np.where(programs.usable, gains.item, -np.inf))
    for _ in range(steps or STEPS):
        column, kind, gain = _entering(some, gains, worth)
        moves = gain > no_gain
        count = np.count_nonzero(moves)
        if not count:
            break
        new, row = pivoted(now, column, kind)
        if count == len(live):
            now, worth = new, worth + gain[:, None] * row
            continue
        worth = worth + (gain * moves)[:, None] * row
        now = Basis(*(_chosen(moves, *both) for both in zip(new, now, strict=True)))
        # Programs that are solved stay among the others until they are many: taking the others out costs, too.
        if count < MANY * len(live):
            _write(basis, live, now)
            rows = moves.nonzero()[0]
            live, some, now, worth = live[rows], some.take(rows), now.take(rows), worth.take(rows, 0)
            gains = gains._replace(item=gains.item.take(rows, 0))
    _write(basis, live, now)
    return basis


def _chosen(moves: Bool[np.ndarray, " n"], new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(moves.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _write(basis: Basis, rows: Int[np.ndarray, " m"], new: Basis) -> None:
    """Corners of some programs, in the room that `maximise` made for itself."""
    for part, own in zip(basis, new, strict=True):
        part[rows] = own


def multipliers(gains: Gains, basis: Basis) -> Float[np.ndarray, "n row"]:
    """What each row is worth at a corner."""
    kind = basis.kind
    own = gains.item[np.arange(len(kind))[:, None], np.maximum(kind, 0)]
    if kind.min() < 0:
        own = np.where(kind >= 0, own, np.where(kind == BASE, gains.base, np.where(kind == CENTRE, gains.centre, 0.0)))
    return (own[:, None] @ basis.inverse)[:, 0]


def near_column(change: Float[np.ndarray, "n classes"]) -> Float[np.ndarray, "n row"]:
    """The column of the near prediction with this change of ln p."""
    column = np.zeros((len(change), change.shape[1] + 1))
    column[:, :-2] = change[:, -1:] - change[:, :-1]
    column[:, -1] = 1
    return column


def direction_of(worth: Float[np.ndarray, "n row"]) -> Float[np.ndarray, "n classes"]:
    """What each class's logit is worth: all together nothing."""
    return np.concatenate([worth[:, :-2], -worth[:, :-2].sum(1, keepdims=True)], 1)


def _entering(
    programs: Programs, gains: Gains, worth: Float[np.ndarray, "n row"]
) -> tuple[Float[np.ndarray, "n row"], Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The column with the most to gain, its kind, and its gain per weight."""
    near, rows, direction = programs.near, np.arange(len(worth)), direction_of(worth)
    change = furthest_change(near, direction)
    item = gains.item - (programs.columns @ worth[..., None])[..., 0]
    place = first_largest(item)
    column, kind, gain = programs.columns[rows, place], place, item[rows, place]
    # Near predictions; the base prediction, where it gains; and the endless falls of classes that may vanish.
    others = [(NEAR, (direction * change).sum(1) - worth[:, -1], lambda: near_column(change))]
    if gains.centre:
        others.append((CENTRE, gains.centre - worth[:, -1], lambda: near_column(np.zeros_like(change))))
    if near.vanishing.any():
        fall = np.where(near.vanishing, -direction, -np.inf)
        others.append((NEAR, fall.max(1), lambda: _endless(fall)))
    for its_kind, its_gain, its_column in others:
        better = its_gain > gain + EQUAL
        if better.any():
            column, kind = np.where(better[:, None], its_column(), column), np.where(better, its_kind, kind)
            gain = np.where(better, its_gain, gain)
    return column, kind, gain


def _endless(fall: Float[np.ndarray, "n classes"]) -> Float[np.ndarray, "n row"]:
    """The column of the endless fall of the class that gains most by it."""
    column = near_column(-(np.arange(fall.shape[1]) == first_largest(fall)[:, None]).astype(float))
    column[:, -1] = 0
    return column


def first_largest(values: Float[np.ndarray, "n any"]) -> Int[np.ndarray, " n"]:
    """The place of the largest value; of values that differ by rounding, the first."""
    return (values >= values.max(1, keepdims=True) - EQUAL).argmax(1)


def pivoted(
    basis: Basis, column: Float[np.ndarray, "n row"], kind: Int[np.ndarray, " n"]
) -> tuple[Basis, Float[np.ndarray, "n row"]]:
    """The next corner: the column enters, as far as all weights stay at least 0, and another leaves.

    Also the row of the inverse that is the column's: by so much its gain changes what each row is worth.
    """
    rows, (columns, kinds, inverse, weight) = np.arange(len(kind)), basis
    step = (inverse @ column[..., None])[..., 0]
    ratio = np.divide(weight, step, out=np.full(step.shape, np.inf), where=step > NO_PIVOT)
    length = ratio.min(1)
    # Of equal ratios the largest pivot.
    leaving = first_largest(np.where(ratio <= length[:, None] + EQUAL, step, -np.inf))
    length = np.where(np.isfinite(length), length, 0.0)
    weight = np.maximum(weight - length[:, None] * step, 0.0)
    row = inverse[rows, leaving] / step[rows, leaving][:, None]
    inverse = inverse - step[..., None] * row[:, None]
    columns, kinds = columns.copy(), kinds.copy()
    weight[rows, leaving], inverse[rows, leaving] = length, row
    columns[rows, leaving], kinds[rows, leaving] = column, kind
    return Basis(columns, kinds, inverse, weight), row


def proven_bound(programs: Programs, gains: Gains, basis: Basis) -> Proof:
    """A bound on the sum of weights x gains of all attentions on usable items in the hull, from any corner.

    Whatever each class's logit is worth, the sum is at most the most that an item gains over the worth of its logits,
    plus the most that the near predictions' logits are worth. They must have a bound: a class that may vanish must not
    be worth less than nothing.
    """
    near, worth = programs.near, np.nan_to_num(multipliers(gains, basis)[:, :-2])
    worth = np.where(near.vanishing[:, :-1], np.maximum(worth, 0), worth)
    worth = worth * ~(near.vanishing[:, -1:] & (worth.sum(1, keepdims=True) > 0))
    direction = np.concatenate([worth, -worth.sum(1, keepdims=True)], 1)
    reach = (direction * furthest_change(near, direction)).sum(1)
    left = np.where(programs.usable, gains.item - (programs.columns[..., :-2] @ worth[..., None])[..., 0], -np.inf)
    most = left.max(1)
    return Proof(most + reach, most[:, None] - left)


def attention_of(basis: Basis, count: int) -> Float[np.ndarray, "n {count}"]:
    """The weights of items at a corner; the base attention as a whole is left out."""
    # A corner has an item once; all else is written to a place of its own, and left out.
    result = np.zeros((len(basis.kind), count + 1))
    result[np.arange(len(result))[:, None], np.where(basis.kind >= 0, basis.kind, count)] = basis.weight
    return result[:, :count]
