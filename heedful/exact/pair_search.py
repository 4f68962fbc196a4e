"""Pairs of items whose prediction stays within eps, for any number of classes: a search for the most different pair.

Along a pair the divergence is convex in the share, so the best share is at an end of an interval that is within eps.
The limits of the margins are linear in the share and enclose the interval; inside them evenly spaced shares are tried,
and the ends are then located by bisection. So every pair returned is within eps, but a better pair may be missed.
"""

from math import log
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from heedful.exact.hull_programs import Programs
from heedful.exact.near_predictions import SAFETY, NearPredictions, largest_margins, moved
from heedful.exact.overlap import divergence, overlap_loss

# Only pairs of the lightest items, which are the most different; of these the most promising of each text.
LIGHTEST, PROMISING = 64, 96
SHARES, HALVINGS = 17, 24
LEAST_GAIN, ROUNDING = 1e-9, 1e-9


class Pairs(NamedTuple):
    """Pairs of items: their texts, changes of logits and base weights, and the shares of the first that are allowed."""

    text: Int[np.ndarray, " n"]
    items: Int[np.ndarray, "n 2"]
    near: NearPredictions
    change: Float[np.ndarray, "n 2 classes"]
    weight: Float[np.ndarray, "n 2"]
    least: Float[np.ndarray, " n"]
    most: Float[np.ndarray, " n"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "Pairs":
        """Some of the pairs."""
        numbers = (
            part.take(rows, 0) for part in (self.text, self.items, self.change, self.weight, self.least, self.most)
        )
        text, items, change, weight, least, most = numbers
        return Pairs(text, items, self.near.take(rows), change, weight, least, most)

    def is_within(self, share: Float[np.ndarray, "step n"]) -> Bool[np.ndarray, "step n"]:
        """Whether the prediction at a share is within eps."""
        change = self.change[:, 1] + share[..., None] * (self.change[:, 0] - self.change[:, 1])
        distance = moved(self.near, change.swapaxes(0, 1)).T
        return distance <= self.near.eps * (1 - 2 * SAFETY)

    def js(self, share: Float[np.ndarray, "*step n"]) -> Float[np.ndarray, "*step n"]:
        """The divergence at a share."""
        return _js(self.weight[:, 0], self.weight[:, 1], share)


def best_pair(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    largest: Float[np.ndarray, "n item"],
    known: Float[np.ndarray, "n item"],
) -> Float[np.ndarray, "n item"]:
    """The most different pair of items within eps, of those tried; what is known, where none is more different.

    Args:
        largest: weights that no attention within eps exceeds.
    """
    value = divergence(weight, known)
    light = np.where(programs.usable, weight, np.inf).argsort(1, kind="stable")[:, :LIGHTEST]
    text, items, least, most = _promising(programs, weight, *_candidates(programs, light, largest), value)
    change = np.zeros((len(text), 2, programs.columns.shape[2] - 1))
    change[..., :-1] = programs.columns[text[:, None], items, :-2]
    pairs = Pairs(text, items, programs.near.take(text), change, weight[text[:, None], items], least, most)
    pairs, share = _ends(pairs, value)
    js = pairs.js(share)
    best, result = np.lexsort((np.arange(len(js)), -js, pairs.text)), known.copy()
    best = best[np.unique(pairs.text[best], return_index=True)[1]]
    best = best[js[best] > value[pairs.text[best]] + LEAST_GAIN]
    result[pairs.text[best]] = 0
    result[pairs.text[best][:, None], pairs.items[best]] = np.stack([share[best], 1 - share[best]], 1)
    return result


def _js(
    first: Float[np.ndarray, "*#n"], second: Float[np.ndarray, "*#n"], share: Float[np.ndarray, "*#n"]
) -> Float[np.ndarray, "*#n"]:
    return log(2) + overlap_loss(first, share) + overlap_loss(second, 1 - share)


def _candidates(
    programs: Programs, light: Int[np.ndarray, "n some"], largest: Float[np.ndarray, "n item"]
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m 2"]]:
    """Text and items of the pairs of light items that may have all the weight between them."""
    first, second = np.triu_indices(light.shape[1], 1)
    most = np.take_along_axis(np.where(programs.usable, largest, -np.inf), light, 1)
    text, number = (most.take(first, 1) + most.take(second, 1) >= 1 - ROUNDING).nonzero()
    return text, np.stack([light[text, first[number]], light[text, second[number]]], 1)


def _promising(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    text: Int[np.ndarray, " m"],
    items: Int[np.ndarray, "m 2"],
    value: Float[np.ndarray, " n"],
) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, "k 2"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Text, items, least and largest share of the pairs that may be more different than `value` within the limits."""
    least, most = _shares_within(programs, text, items)
    own = (least <= most).nonzero()[0]
    bound = _bound(weight[text[own][:, None], items[own]], least[own], most[own])
    alive = bound > value[text[own]] + LEAST_GAIN
    own, bound = own[alive], bound[alive]
    own = own[np.lexsort((-bound, text[own]))]
    ahead = np.arange(len(own)) - np.searchsorted(text[own], text[own])
    own = own[ahead < PROMISING]
    return text[own], items[own], least[own], most[own]


def _bound(
    weight: Float[np.ndarray, "m 2"], least: Float[np.ndarray, " m"], most: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """The largest divergence of pairs whose first item's share is in a range: it is convex, so at an end."""
    first, second = weight.T
    return np.maximum(_js(first, second, least), _js(first, second, most))


def _shares_within(
    programs: Programs, text: Int[np.ndarray, " m"], items: Int[np.ndarray, "m 2"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The range of the first item's share in which all margins over the last class keep their limits.

    Where there is none, the least is above the largest.
    """
    limits = largest_margins(programs.near)
    least, most = np.zeros(len(text)), np.ones(len(text))
    for k in range(limits.shape[1] - 1):
        margin = programs.columns[..., k]
        first, second = margin[text, items[:, 0]], margin[text, items[:, 1]]
        # Equal margins keep their limits at all shares or at none: the quotients are infinite.
        slope = first - second
        to_high, to_low = ((end[text] - second) / slope for end in (limits[:, k, -1], -limits[:, -1, k]))
        most = np.fmin(most, np.maximum(to_high, to_low))
        least = np.fmax(least, np.minimum(to_high, to_low))
    return least, most


def _ends(pairs: Pairs, value: Float[np.ndarray, " text"]) -> tuple[Pairs, Float[np.ndarray, " n"]]:
    """The ends of the intervals within eps, of the pairs whose ends may be more different than `value`."""
    shares = pairs.least + np.linspace(0, 1, SHARES)[:, None] * (pairs.most - pairs.least)
    within = pairs.is_within(shares)
    places = np.stack([within.argmax(0), SHARES - 1 - within[::-1].argmax(0)])
    inside = np.take_along_axis(shares, places, 0)
    outside = np.take_along_axis(shares, (places + [[-1], [1]]).clip(0, SHARES - 1), 0)
    may = within.any(0) & (np.maximum(pairs.js(inside), pairs.js(outside)) > value[pairs.text] + LEAST_GAIN)
    end, number = may.nonzero()
    pairs, inside, outside = pairs.take(number), inside[end, number], outside[end, number]
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_within = pairs.is_within(middle[None])[0]
        inside, outside = np.where(is_within, middle, inside), np.where(is_within, outside, middle)
    return pairs, inside
