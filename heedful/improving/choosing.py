"""Which way to train is best: the highest mean score among those that cost neither accuracy nor sharpness."""

from collections.abc import Sequence

from heedful.improving.method_scores import Point

MOST_LOST = 0.005
"""Accuracy that may be lost: half a point."""
LEAST_SHARP = 0.5
"""The share of the own way's sharpness that must be left: even attention is stable, and says nothing."""


def refusal(point: Point, own_way: Point, most_lost: float = MOST_LOST) -> str:
    """What a way to train costs too much of, in words; empty where it keeps the accuracy and half of the sharpness.

    >>> own, even = (Point(name="", accuracy=0.8, scores={}, sharpness=sharp, evenness=0.5) for sharp in (8.0, 2.0))
    >>> refusal(even, own)
    'keeps only 25% of the sharpness (half is the least)'
    """
    if point.lost > most_lost:
        return f"loses {100 * point.lost:.1f} points of accuracy"
    if point.sharpness < LEAST_SHARP * own_way.sharpness:
        return f"keeps only {point.sharpness / own_way.sharpness:.0%} of the sharpness (half is the least)"
    return ""


def choose(own_way: Point, points: Sequence[Point], most_lost: float = MOST_LOST) -> Point:
    """The admissible point of the highest mean score, the first of equals; the own way where none is better."""
    admissible = [point for point in points if not refusal(point, own_way, most_lost)]
    best = max(admissible, key=lambda point: point.mean, default=own_way)
    return best if best.mean > own_way.mean else own_way


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points than which no other has both a higher accuracy and a higher mean score, by accuracy."""
    return [
        point
        for point in sorted(points, key=lambda point: point.accuracy)
        if not any(
            other.accuracy >= point.accuracy
            and other.mean >= point.mean
            and (other.accuracy, other.mean) != (point.accuracy, point.mean)
            for other in points
        )
    ]
