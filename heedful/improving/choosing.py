"""Which training method is best: the largest share of texts in which attention points, at no cost in accuracy."""

from collections.abc import Sequence

from heedful.improving.method_scores import MethodScores

MOST_LOST = 0.005
"""Accuracy that can be lost: half a percentage point."""


def refusal(method: MethodScores, most_lost: float = MOST_LOST) -> str:
    """Why a method cannot be chosen; empty if it keeps the accuracy.

    >>> refusal(MethodScores(name="", accuracy=0.8, lost=0.012, points=0.9))
    'loses 1.2 percentage points of accuracy'
    """
    return f"loses {100 * method.lost:.1f} percentage points of accuracy" if method.lost > most_lost else ""


def choose(own_method: MethodScores, methods: Sequence[MethodScores], most_lost: float = MOST_LOST) -> MethodScores:
    """The method whose attention points most often, the first of equals; the run's own method if none is better."""
    admissible = [method for method in methods if not refusal(method, most_lost)]
    best = max(admissible, key=lambda method: method.points, default=own_method)
    return best if best.points > own_method.points else own_method


def frontier(methods: Sequence[MethodScores]) -> list[MethodScores]:
    """Methods that no other one beats in both accuracy and share, by accuracy."""
    return [
        method
        for method in sorted(methods, key=lambda method: method.accuracy)
        if not any(
            other.accuracy >= method.accuracy
            and other.points >= method.points
            and (other.accuracy, other.points) != (method.accuracy, method.points)
            for other in methods
        )
    ]
