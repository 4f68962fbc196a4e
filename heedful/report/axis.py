"""Axes that show their data: where they start and end, and in what unit their numbers are written."""

import math
from collections.abc import Sequence

import altair as alt

Ends = tuple[float, float]
"""Where an axis starts and where it ends."""
FILLED = 0.2
"""An axis of which the values would fill less than this share is cut to the values."""
SMALL = 1e-3
"""Where no number along an axis reaches this, they are written in a unit that is a power of ten."""


def axis_ends(values: Sequence[float], limits: Ends | None = None) -> Ends:
    """The limits of the measure; where the values fill too little of them, 0 and the values; or else the values alone.

    Args:
        values: finite, and at least one.
        limits: what the values can be at least and at most; None: anything.

    >>> axis_ends([0.1, 0.9], (0.0, 1.0)), axis_ends([0.012, 0.031], (0.0, 1.0)), axis_ends([0.983, 1.0], (0.0, 1.0))
    ((0.0, 1.0), (0.0, 0.035), (0.982, 1.0))
    """
    low, high = min(values), max(values)
    whole = (min(low, 0.0), max(high, 0.0))
    if limits is not None and high - low >= FILLED * (limits[1] - limits[0]):
        return min(low, limits[0]), max(high, limits[1])
    if low == high:
        return limits or (whole if low else (0.0, 1.0))
    start, end = _rounded(*whole) if high - low >= FILLED * (whole[1] - whole[0]) else _rounded(low, high)
    # Rounding may pass what the measure can be; the values never do, but for their last digit.
    return (start, end) if limits is None else (max(start, min(low, limits[0])), min(end, max(high, limits[1])))


def x_axis(field: str, title: str, ends: Ends, ticks: int = 6) -> alt.X:
    """The field along the horizontal, from end to end."""
    scale = alt.Scale(domain=list(ends), nice=False)
    return alt.X(f"{field}:Q", title=_with_unit(title, ends), scale=scale, axis=_numbers(ends, ticks))


def y_axis(field: str, title: str, ends: Ends, ticks: int = 5) -> alt.Y:
    """The field along the vertical, from end to end."""
    scale = alt.Scale(domain=list(ends), nice=False)
    return alt.Y(f"{field}:Q", title=_with_unit(title, ends), scale=scale, axis=_numbers(ends, ticks))


def _rounded(low: float, high: float) -> Ends:
    """The ends moved outwards to a round number, by a tenth of their distance or so."""
    step, decimals = _round_step((high - low) / 10)
    return round(math.floor(low / step + 1e-9) * step, decimals), round(math.ceil(high / step - 1e-9) * step, decimals)


def _round_step(least: float) -> tuple[float, int]:
    """The smallest 1, 2 or 5 times a power of ten that is not less, and the decimals that it has."""
    power = math.floor(math.log10(least))
    step = min(size * 10.0**power for size in (1, 2, 5, 10) if size * 10.0**power >= least * (1 - 1e-9))
    return step, max(0, -math.floor(math.log10(step) + 1e-9))


def _power(ends: Ends) -> int:
    """The power of ten in which the numbers between the ends are written: 0 unless all of them are small."""
    largest = max(map(abs, ends))
    return math.floor(math.log10(largest)) if 0 < largest < SMALL else 0


def _with_unit(title: str, ends: Ends) -> str:
    power = _power(ends)
    return f"{title} (× 1e{power})".strip() if power else title


def _numbers(ends: Ends, ticks: int) -> alt.Axis:
    """Numbers at round places, so many or fewer distances apart: left to itself, the drawing crowds them."""
    low, high = ends
    step, decimals = _round_step((high - low) / ticks)
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    values = [round(place * step, decimals) for place in places]
    power = _power(ends)
    if not power:
        return alt.Axis(values=values, format=f".{decimals}f", labelOverlap=True, labelSeparation=4)
    return alt.Axis(values=values, labelExpr=f"format(datum.value * 1e{-power}, '~g')")
