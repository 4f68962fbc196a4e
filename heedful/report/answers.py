"""The answer as page and notebook show it: sentences, a bar for all texts and for each class, and the rankings."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.formatting import format_number
from heedful.report.audits import AuditFiles
from heedful.schema import ClassAnswer, Interval, RankingShare, Shares, Verdict
from heedful.verdict.answer_text import recommendation_text, remarks, share_text

NOT_ASKED = "This audit has no answer: its tests leave out `outcome`."
NO_ADVICE = "Audit again without `--tests`."


@dataclass(frozen=True)
class Bar:
    """Outcomes as widths in percent, and as whole numbers of 100 texts.

    Args:
        decided: width of the part in which a small set decides; `points`, `misses` and `luck` are within it.
        numbers: what each part is called and how large it is.
    """

    decided: float
    points: float
    luck: float | None
    numbers: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class ShownClass:
    """The answer for all texts or for one predicted class."""

    title: str
    answer: str
    sentence: str
    texts: int
    bar: Bar | None


@dataclass(frozen=True)
class ShownAnswer:
    """The answer of one audit, in the order in which it is read."""

    headline: str
    sentence: str
    classes: tuple[ShownClass, ...]
    recommendation: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ShownRanking:
    """One ranking next to the others."""

    title: str
    points: str
    replaced: str
    answer: str
    price: str
    milliseconds: str
    is_recommended: bool


def shown_answer(verdict: Verdict) -> ShownAnswer:
    """The answer, or that there is none."""
    answer, item = verdict.answer, verdict.item
    if answer is None:
        return ShownAnswer(NOT_ASKED, "", (), NO_ADVICE, ())
    overall = _shown_class(answer.overall, item)
    return ShownAnswer(
        answer.headline,
        answer.sentence,
        (overall, *(_shown_class(each, item) for each in answer.classes if each.shares.texts)),
        recommendation_text(answer),
        remarks(verdict),
    )


def _shown_class(own: ClassAnswer, item: str) -> ShownClass:
    title = "All texts" if own.shares.label is None else own.shares.label
    bar = None if own.answer == "Nothing to explain" else _bar(own.shares, item)
    return ShownClass(title, own.answer, own.sentence, own.shares.texts, bar)


def _bar(shares: Shares, item: str) -> Bar | None:
    if shares.no_small_set.value is None:
        return None
    points, luck, none = shares.points.value, shares.luck, shares.no_small_set.value
    numbers = [("no-small-set", f"no small set of {item}s decides", _of_100(none))]
    if points is not None:
        numbers = [("points", "points", _of_100(points)), ("misses", "misses", _of_100(1 - points)), *numbers]
    if points is not None and luck is not None:
        numbers.insert(2, ("luck", "luck", _of_100(luck)))
    return Bar(
        decided=round(100 * (1 - none), 2),
        points=round(100 * (points or 0.0), 2),
        luck=None if luck is None or points is None else round(100 * luck, 2),
        numbers=tuple(numbers),
    )


def _of_100(share: float) -> str:
    return str(round(100 * share))


def ranking_rows(audits: Sequence[AuditFiles]) -> list[tuple[ShownRanking, ...]]:
    """The rankings of each audit: attention, then the others by their share; empty if there is no answer."""
    return [_rankings(audit.verdict) for audit in audits]


def _rankings(verdict: Verdict) -> tuple[ShownRanking, ...]:
    if verdict.answer is None:
        return ()
    shown = recommended_ranking(verdict)
    ordered = sorted(verdict.answer.rankings, key=lambda own: (own.name != "attention", -(own.points.value or 0.0)))
    return tuple(_shown_ranking(each, is_recommended=each.name == shown) for each in ordered)


def _shown_ranking(own: RankingShare, *, is_recommended: bool) -> ShownRanking:
    return ShownRanking(
        title=own.title,
        points=share_text(own.points),
        replaced=share_text(own.replaced or Interval()),
        answer=own.answer,
        price=own.price or "–",
        milliseconds="–" if own.milliseconds is None else format_number(own.milliseconds, decimals=1),
        is_recommended=is_recommended,
    )


def recommended_ranking(verdict: Verdict) -> str:
    """The ranking to show a reader, attention or another; empty if none can be shown without a check."""
    advice = verdict.answer and verdict.answer.recommendation
    return advice.ranking if advice and advice.show in ("attention", "ranking") else ""
