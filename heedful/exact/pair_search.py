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
LEAST_GAIN = 1e-9


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
    programs: Programs, weight: Float[np.ndarray, "n item"], known: Float[np.ndarray, "n item"]
) -> Float[np.ndarray, "n item"]:
    """The most different pair of items within eps, of those tried; what is known, where none is more different."""
    value = divergence(weight, known)
    light = np.where(programs.usable, weight, np.inf).argsort(1, kind="stable")[:, :LIGHTEST]
    first, second = np.triu_indices(light.shape[1], 1)
    text, number, least, most = _promising(programs, weight, light, (first, second), value)
    items = np.stack([light[text, first[number]], light[text, second[number]]], 1)
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


def _promising(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    light: Int[np.ndarray, "n some"],
    pairs: tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]],
    value: Float[np.ndarray, " n"],
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"], Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Text, number, least and largest share of the pairs that may be more different than `value` within the limits."""
    least, most = _shares_within(programs, light, pairs)
    own = np.take_along_axis(weight, light, 1)
    sides = own[:, pairs[0]], own[:, pairs[1]]
    bound = np.maximum(_js(*sides, least), _js(*sides, most))
    alive = (least <= most) & (bound > value[:, None] + LEAST_GAIN)
    alive &= np.take_along_axis(programs.usable, light, 1)[:, pairs[1]]
    best = np.where(alive, -bound, np.inf).argsort(1, kind="stable")[:, :PROMISING]
    text, place = np.take_along_axis(alive, best, 1).nonzero()
    number = best[text, place]
    return text, number, least[text, number], most[text, number]


def _shares_within(
    programs: Programs, light: Int[np.ndarray, "n some"], pairs: tuple[Int[np.ndarray, " p"], Int[np.ndarray, " p"]]
) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n p"]]:
    """The range of the first item's share in which all margins over the last class keep their limits; else 1 to 0."""
    limits = largest_margins(programs.near)
    high, low = limits[:, :-1, -1], -limits[:, -1, :-1]
    margin = np.take_along_axis(programs.columns[..., :-2], light[..., None], 1)
    least, most = np.zeros((len(light), len(pairs[0]))), np.ones((len(light), len(pairs[0])))
    for k in range(margin.shape[2]):
        second = margin[:, pairs[1], k]
        slope = margin[:, pairs[0], k] - second
        flat = np.abs(slope) < 1e-12
        to_high, to_low = ((end[:, k, None] - second) / np.where(flat, 1.0, slope) for end in (high, low))
        outside = flat & ((second > high[:, k, None] + 1e-12) | (second < low[:, k, None] - 1e-12))
        most = np.minimum(most, np.where(flat, np.where(outside, -1.0, 1.0), np.maximum(to_high, to_low)))
        least = np.maximum(least, np.where(flat, 0.0, np.minimum(to_high, to_low)))
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
