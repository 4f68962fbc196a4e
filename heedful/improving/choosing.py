"""Which way to train is best: the highest mean score among those that cost neither accuracy nor sharpness."""

from collections.abc import Sequence

from heedful.improving.points import Point

MOST_LOST = 0.005
"""Accuracy that may be lost: half a point."""
LEAST_SHARP = 0.5
"""The share of the own way's sharpness that must be left: even attention is stable, and says nothing."""


def is_admissible(point: Point, own_way: Point, most_lost: float = MOST_LOST) -> bool:
    """Whether a way to train keeps the accuracy, but for so much, and half of the sharpness."""
    return point.lost <= most_lost and point.sharpness >= LEAST_SHARP * own_way.sharpness


def choose(own_way: Point, points: Sequence[Point], most_lost: float = MOST_LOST) -> Point:
    """The admissible point of the highest mean score, the first of equals; the own way where none is better."""
    admissible = [point for point in points if is_admissible(point, own_way, most_lost)]
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
