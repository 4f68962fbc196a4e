"""The logits whose prediction is within eps of the base's in total variation: how far they reach in a direction.

They are not a convex set, but how far they reach has a closed form. For a direction that sums to 0 (a constant added
to all logits changes no prediction)

    reach = max of the sum of direction x (ln q - ln p), over predictions q with TVD(q, p) <= eps.

The classes with a positive direction share a rise of eps in all. The logarithm is concave: the rise goes where
direction / q is largest, until it is level (water-filling). A fall of eps in all goes to classes with a negative
direction. There the objective is convex in the fall, so a single class takes all of it. A class with p <= eps may fall
to nothing, so that there is no bound where its direction is negative. In numpy, as the simplex method is.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

# Within eps means below eps x (1 - SAFETY), so that another order of summation agrees.
SAFETY = 1e-9
# Rounding alone must not make a class that may just fall to nothing one that may not.
ALMOST = 1 + 1e-9
# Whoever has fallen so far has fallen to nothing.
LONG_FALL = 60.0
TINY = np.finfo(float).tiny


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
