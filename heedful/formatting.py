"""Numbers and names as a reader sees them: the same in terminal, report and study pages."""

import math
import re

UNDEFINED = "–"

_HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufffe\\uffff]"
)
"""Characters that steer a terminal, turn the direction of writing, or stand for nothing; tabs and line ends stay."""


def printable(text: str) -> str:
    r"""The text with its control characters written out, so that no name or text steers a terminal or stops a drawing.

    >>> printable("a\x1b[31mb"), printable("naïve\tcafé")
    ('a\\x1b[31mb', 'naïve\tcafé')
    """
    return _HIDDEN.sub(lambda mark: mark[0].encode("unicode_escape").decode("ascii"), text)


def format_number(value: float | None, *, decimals: int = 2, percent: bool = False) -> str:
    """A number with `decimals` decimals; smaller ones by their exponent, undefined ones as a dash.

    >>> format_number(0.4567), format_number(0.4567, percent=True), format_number(1.8e-8), format_number(None)
    ('0.46', '45.7%', '1.8e-08', '–')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if percent:
        return f"{100 * value:z.1f}%"
    if value != 0 and abs(value) < 0.5 * 10**-decimals:
        return f"{value:.1e}"
    return f"{value:z.{decimals}f}" if abs(value) < 10 else f"{value:.1f}"


def format_interval(low: float | None, high: float | None, *, decimals: int = 2, percent: bool = False) -> str:
    """The two ends of an interval; empty if it is undefined.

    >>> format_interval(0.1, 0.25), format_interval(0.1, 0.25, percent=True), format_interval(None, 1.0)
    ('0.10 to 0.25', '10.0 to 25.0%', '')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    start = format_number(low, decimals=decimals, percent=percent).removesuffix("%")
    return f"{start} to {format_number(high, decimals=decimals, percent=percent)}"


def format_estimate(
    value: float | None, low: float | None, high: float | None, *, decimals: int = 2, percent: bool = False
) -> str:
    """A number and, in brackets, its interval where it has one.

    >>> format_estimate(0.5, 0.45, 0.55), format_estimate(0.5, None, None)
    ('0.50 (0.45 to 0.55)', '0.50')
    """
    interval = format_interval(low, high, decimals=decimals, percent=percent)
    number = format_number(value, decimals=decimals, percent=percent)
    return f"{number} ({interval})" if interval and number != UNDEFINED else number


def format_seconds(seconds: float) -> str:
    """A duration in the unit that suits it.

    >>> format_seconds(42.4), format_seconds(754.0), format_seconds(7_500.0)
    ('42 s', '13 min', '2.1 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
