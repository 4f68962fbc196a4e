"""The answer as page and notebook show it: which classes and rankings are listed, and a bar of outcomes."""

from dataclasses import dataclass

from heedful.schema import AuditAnswer, ClassAnswer, RankingShare, Verdict


@dataclass(frozen=True)
class ShareBar:
    """Outcomes as widths in percent, and as whole numbers of 100 texts.

    Args:
        decided: width of the part in which a small set decides; `points`, `misses` and `luck` are within it.
        numbers: what each part is called and how large it is.
    """

    decided: float
    points: float
    luck: float | None
    numbers: tuple[tuple[str, str, str], ...]


def share_bar(own: ClassAnswer, item: str) -> ShareBar | None:
    """The bar of all texts or of one class; None if there is nothing to show."""
    points, luck, none = own.shares.points.value, own.shares.luck, own.shares.no_small_set.value
    if own.answer == "Nothing to explain" or none is None:
        return None
    parts = [("no-small-set", f"no small set of {item}s decides", none)]
    if points is not None:
        lucky = [("luck", "luck", luck)] if luck is not None else []
        parts = [("points", "points", points), ("misses", "misses", 1 - points), *lucky, *parts]
    return ShareBar(
        decided=round(100 * (1 - none), 2),
        points=round(100 * (points or 0.0), 2),
        luck=None if luck is None or points is None else round(100 * luck, 2),
        numbers=tuple((kind, name, str(round(100 * share))) for kind, name, share in parts),
    )


def shown_classes(answer: AuditAnswer | None) -> list[ClassAnswer]:
    """The answer for all texts, and for each class that is predicted."""
    return [] if answer is None else [answer.overall, *(each for each in answer.classes if each.shares.texts)]


def ordered_rankings(verdict: Verdict) -> list[RankingShare]:
    """Attention, then the other rankings by their share; empty if there is no answer."""
    known = verdict.answer.rankings if verdict.answer else ()
    return sorted(known, key=lambda own: (own.name != "attention", -(own.points.value or 0.0)))


def recommended_ranking(verdict: Verdict) -> str:
    """The ranking to show a reader, attention or another; empty if none can be shown without a check."""
    advice = verdict.answer and verdict.answer.recommendation
    return advice.ranking if advice and advice.show in ("attention", "ranking") else ""
