"""From outcomes of texts to an answer, for all texts and for each predicted class. docs/answer.md has the table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import get_args

import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.measures import Estimate
from heedful.measures.interval import beyond_luck, seeds_dominate, share_interval
from heedful.measures.two_way_variance import defined_texts
from heedful.schema import Answer, ClassAnswer, Interval, Outcome, Reason, Removal, SeedShare, Shares, updated
from heedful.settings import AnswerSettings
from heedful.verdict.answer_text import per_100

REASONS: tuple[Reason, ...] = get_args(Reason)
WHY: dict[Reason, str] = {
    "many words": "many words contribute",
    "default": "it is what the model predicts unless something opposes it",
    "any words": "almost any words are enough",
    "default or any words": "it is the model's default, or almost any words are enough",
}


NO_OUTCOME: dict[str, float] = {"predicted": -1, "points": nan, "decided": nan, "luck": nan, "reason": -1}
"""What stands in each table of `Outcomes` where a text has no outcome."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of one ranking under one way of removing words.

    Args:
        predicted: class that the seed predicts for the text; -1 if the text has no outcome.
        points: 1 if the ranking points, 0 if it misses, NaN if no small set decides or there is no outcome.
        decided: 1 if a small set of words decides, 0 if none does, NaN if there is no outcome.
        luck: the text's luck, NaN if there is no outcome.
        reason: place in REASONS, -1 if a small set decides.
        runs: names of the seeds.
    """

    predicted: Int[Tensor, "seed text"]
    points: Float[Tensor, "seed text"]
    decided: Float[Tensor, "seed text"]
    luck: Float[Tensor, "seed text"]
    reason: Int[Tensor, "seed text"]
    runs: tuple[str, ...]

    def of_class(self, predicted: int) -> "Outcomes":
        """The same where the seed predicts this class, undefined elsewhere."""
        return self.where(self.predicted == predicted)

    def where(self, counts: Bool[Tensor, "seed text"]) -> "Outcomes":
        """The same in some cells, undefined elsewhere."""
        return replace(self, **{name: getattr(self, name).where(counts, none) for name, none in NO_OUTCOME.items()})

    def of_texts(self, texts: Int[Tensor, " some"]) -> "Outcomes":
        """The same of some of the texts."""
        return replace(self, **{name: getattr(self, name)[:, texts] for name in NO_OUTCOME})


def shares_of(outcomes: Outcomes, settings: AnswerSettings, label: str | None = None) -> Shares:
    """Shares of texts, with intervals and luck."""
    decided, points, level = outcomes.decided, outcomes.points, settings.level
    luck = outcomes.luck.masked_fill(points.isnan(), nan)
    reasons = Counter(REASONS[number] for number in outcomes.reason.flatten().tolist() if number >= 0)
    no_small_set = share_interval(1 - decided, level)
    share = share_interval(points, level)
    parts: dict[Outcome, float | None] = {"no_small_set": no_small_set.value}
    if no_small_set.n:
        in_points = 0.0 if share.n == 0 else share.value
        parts |= {
            "points": (1 - no_small_set.value) * in_points,
            "misses": (1 - no_small_set.value) * (1 - in_points) if share.n else 0.0,
        }
    return Shares(
        label=label,
        texts=defined_texts(decided),
        decided_texts=defined_texts(points),
        points=interval_of(share),
        luck=luck.nanmean().item(),
        beyond_luck=interval_of(beyond_luck(points, luck, level)),
        no_small_set=interval_of(no_small_set),
        outcomes=parts,
        reasons=dict(reasons),
        seeds=tuple(
            SeedShare(run=run, points=points[seed].nanmean().item(), decided=decided[seed].nanmean().item())
            for seed, run in enumerate(outcomes.runs)
        ),
    )


def interval_of(estimate: Estimate) -> Interval:
    """The estimate as a verdict holds it."""
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n)


def answer_from(shares: Shares, settings: AnswerSettings, *, replaced: Answer | None = None) -> Answer:
    """The answer that the shares give, once there is something to explain.

    Args:
        replaced: the answer where words are replaced; a Yes needs that it is not No.
    """
    if not _has_texts(shares, settings):
        return "Too few texts"
    if _number(shares.no_small_set.low) > settings.most_texts:
        return "No small set decides"
    if shares.decided_texts < settings.decided_texts:
        return "Too few texts"
    points, beyond = shares.points, shares.beyond_luck
    if _number(points.low) > settings.yes and _number(beyond.low) > settings.yes_beyond_luck:
        return "For some texts" if replaced == "No" else "Yes"
    if _number(points.high) < settings.no or _number(beyond.high) < settings.no_beyond_luck:
        return "No"
    return "For some texts"


def _has_texts(shares: Shares, settings: AnswerSettings) -> bool:
    """Whether there are enough audited texts, from at least half of the seeds."""
    return shares.texts >= settings.texts and 2 * _seed_count(shares) >= len(shares.seeds)


def _seed_count(shares: Shares) -> int:
    """Number of seeds that the texts come from."""
    return sum(seed.decided is not None for seed in shares.seeds)


def _number(value: float | None) -> float:
    return nan if value is None else value


def answer_class(
    outcomes: Outcomes,
    settings: AnswerSettings,
    *,
    label: str | None = None,
    item: str = "word",
    is_learned: bool = True,
    replaced: Outcomes | None = None,
) -> ClassAnswer:
    """The answer for these outcomes, of all texts or of one class.

    Args:
        label: name of the class; None for all texts.
        is_learned: whether the model is significantly better than a constant prediction.
        replaced: outcomes where words are replaced; None if they were not computed.
    """
    shares = shares_of(outcomes, settings, label)
    others = shares_of(replaced, settings, label) if replaced is not None else None
    replaced_answer = answer_from(others, settings) if others is not None else None
    answer = answer_from(shares, settings, replaced=replaced_answer)
    if not is_learned and _has_texts(shares, settings):
        answer = "Nothing to explain"
    made = ClassAnswer(answer=answer, sentence="", shares=shares, replaced=others, replaced_answer=replaced_answer)
    return updated(made, sentence=_sentence(made, settings, item, outcomes.points))


def _sentence(made: ClassAnswer, settings: AnswerSettings, item: str, points: Float[Tensor, "seed text"]) -> str:
    shares = made.shares
    if made.answer == "Nothing to explain":
        return "The model is not significantly better than a constant prediction."
    if made.answer == "Too few texts":
        if shares.texts < settings.texts:
            return f"{shares.texts} texts were audited; an answer needs {settings.texts}."
        if not _has_texts(shares, settings):
            count, seeds = _seed_count(shares), len(shares.seeds)
            return f"The texts come from {count} of {seeds} seeds; an answer needs half of them."
        return (
            f"A small set of {item}s decides in {shares.decided_texts} texts; an answer needs {settings.decided_texts}."
        )
    if made.answer == "No small set decides":
        why = max(shares.reasons, key=lambda reason: shares.reasons[reason])
        return f"In {per_100(shares.no_small_set)} no small set of {item}s decides, mostly because {WHY[why]}."
    return " ".join(
        part for part in (_share_sentence(shares, settings, item), *_remarks(made, settings, points)) if part
    )


def _share_sentence(shares: Shares, settings: AnswerSettings, item: str) -> str:
    luck = round(100 * (shares.luck or 0.0))
    decided = 1 - (shares.no_small_set.value or 0.0)
    which = ""
    if decided < settings.named_share:
        which = f" among the {round(100 * decided)} of 100 in which a small set of {item}s decides"
    return f"Attention points to the key {item}s in {per_100(shares.points)}{which}; luck is {luck}."


def _remarks(made: ClassAnswer, settings: AnswerSettings, points: Float[Tensor, "seed text"]) -> Sequence[str]:
    """What qualifies an answer: seeds that differ, what would decide, words that are replaced."""
    shares, remarks = made.shares, []
    for name, title in (("points", "share"), ("decided", "share of texts in which a small set decides")):
        values = [getattr(seed, name) for seed in shares.seeds if getattr(seed, name) is not None]
        is_named = name == "points" or 1 - (shares.no_small_set.value or 0.0) < settings.named_share
        if is_named and values and max(values) - min(values) > settings.seed_gap:
            remarks.append(f"The {title} differs by seed: {', '.join(f'{value:.2f}' for value in values)}.")
    if made.answer == "For some texts":
        low, high = _number(shares.points.low), _number(shares.points.high)
        if answer_from(shares, settings) == "Yes":
            remarks.append("It points only if words are deleted, not if they are replaced.")
        elif any(low <= bound <= high for bound in (settings.yes, settings.no)):
            remarks.append(f"More {'seeds' if seeds_dominate(points) else 'texts'} would decide.")
    if made.replaced is not None and made.replaced.points.value is not None:
        remarks.append(f"If words are replaced: {per_100(made.replaced.points)}.")
    return remarks


def answer_all(
    outcomes: Outcomes,
    labels: Sequence[str],
    settings: AnswerSettings,
    *,
    item: str = "word",
    is_learned: bool = True,
    replaced: Outcomes | None = None,
) -> tuple[ClassAnswer, tuple[ClassAnswer, ...]]:
    """The answer for all texts together, and for each class in the order of the labels."""
    common = {"item": item, "is_learned": is_learned}
    overall = answer_class(outcomes, settings, replaced=replaced, **common)
    classes = tuple(
        answer_class(
            outcomes.of_class(number),
            settings,
            label=label,
            replaced=None if replaced is None else replaced.of_class(number),
            **common,
        )
        for number, label in enumerate(labels)
    )
    return overall, classes


def headline_of(overall: ClassAnswer, classes: Sequence[ClassAnswer]) -> str:
    """The answer in one line: overall if no class has enough texts, that of the classes if they agree, else each."""
    named = [(each.shares.label, each.answer) for each in classes if each.answer != "Too few texts"]
    answers = {answer for _, answer in named}
    if not named or len(answers) == 1:
        return next(iter(answers), overall.answer)
    return f"It depends on the class: {', '.join(f'{label}: {answer}' for label, answer in named)}"


# Outcomes as tables have them, and as `answers` counts them: one cell per seed and text.

POINTS = {"points": 1.0, "misses": 0.0}


def outcomes_of(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], ranking: str = "attention", removal: Removal = "delete"
) -> Outcomes:
    """Outcomes of one ranking under one way of removing words, from a table per seed.

    Texts are the same for every ranking and way of removing: those that have a row in any table.
    """
    shape = len(frames), len(_places(frames))
    kinds = {name: torch.long if none == -1 else torch.float64 for name, none in NO_OUTCOME.items()}
    cells = {name: torch.full(shape, none, dtype=kinds[name]) for name, none in NO_OUTCOME.items()}
    for seed, (place, rows) in enumerate(_rows(frames, ranking, removal, "outcome")):
        values = {
            "predicted": [labels.index(label) for label in rows["predicted"]],
            "points": [POINTS.get(outcome, nan) for outcome in rows["outcome"]],
            "decided": [float(outcome != "no_small_set") for outcome in rows["outcome"]],
            "luck": rows["luck"].to_list(),
            "reason": [-1 if why is None else REASONS.index(why) for why in rows["reason"]],
        }
        for name, own in values.items():
            cells[name][seed, place] = torch.tensor(own, dtype=kinds[name])
    return Outcomes(**cells, runs=tuple(frame["run"][0] if len(frame) else "" for frame in frames))


def flags_of(frames: Sequence[pl.DataFrame], column: str) -> Tensor:
    """A column of yes and no of attention if words are deleted, [seed text]: 1, 0, or NaN if there is none."""
    values = torch.full((len(frames), len(_places(frames))), nan, dtype=torch.float64)
    for own, (place, rows) in zip(values, _rows(frames, "attention", "delete", column), strict=True):
        own[place] = torch.tensor(rows[column].cast(pl.Float64).to_list(), dtype=torch.float64)
    return values


def _places(frames: Sequence[pl.DataFrame]) -> dict[int, int]:
    """The place of each text, in the order of their numbers."""
    numbers = {number for frame in frames for number in frame["example"].unique().to_list()}
    return {number: place for place, number in enumerate(sorted(numbers))}


def _rows(
    frames: Sequence[pl.DataFrame], ranking: str, removal: Removal, column: str
) -> Iterator[tuple[Int[Tensor, " row"], pl.DataFrame]]:
    """Of each seed's table the rows of a ranking that have a value in the column, and the places of their texts."""
    places = _places(frames)
    for frame in frames:
        chosen = (pl.col("ranking") == ranking) & (pl.col("removal") == removal) & pl.col(column).is_not_null()
        rows = frame.filter(chosen)
        yield torch.tensor([places[number] for number in rows["example"].to_list()], dtype=torch.long), rows
