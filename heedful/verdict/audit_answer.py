"""The answer of an audit: outcomes of several seeds in, answers per class and a recommendation out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import polars as pl
import torch
from torch import Tensor

from heedful.battery.question import Columns
from heedful.measures import mean_interval
from heedful.measures.interval import share_interval
from heedful.measures.mean_moments import t_quantile
from heedful.schema import AuditAnswer, Interval, RankingShare, Removal, ShownText
from heedful.schema.rankings import VARIANTS, ranking_title
from heedful.schema.table_columns import UNCOUNTED
from heedful.settings import AuditSettings
from heedful.verdict.answer_text import per_100
from heedful.verdict.answers import Outcomes, answer_all, flags_of, headline_of, interval_of, outcomes_of, shares_of
from heedful.verdict.recommendation import Candidate, choose, price_text, recommend

# Whether a model has learned its task. If not, there is no prediction for attention to explain.

TAIL = 0.025
"""The chance that a true value lies below the lower end of its 95% interval."""


def is_labeled(columns: Columns) -> bool:
    """Whether all audited texts have labels."""
    return "prediction.label" in columns and bool((columns["prediction.label"] >= 0).all())


def beats_constant_prediction(columns: Columns) -> bool:
    """Whether the model is significantly better than a constant prediction on the audited texts, in accuracy or in
    balanced accuracy.

    The lower end of the 95% interval lies above the share of the most common label, or above 1/K for balanced accuracy
    with K labels. Texts are a sample and the audited models are not: a text's value is its share of correct seeds.

    >>> import torch
    >>> label = torch.tensor([[0.0, 1.0] * 20])
    >>> beats_constant_prediction({"prediction.correct": torch.ones(1, 40), "prediction.label": label})
    True
    >>> beats_constant_prediction({"prediction.correct": 1 - label, "prediction.label": label})  # always answers 0
    False
    """
    correct, label = columns["prediction.correct"].nanmean(0), columns["prediction.label"][0]
    counts = label.unique(return_counts=True)[1]
    if not len(counts):
        return False
    by_label = [correct[label == name].tolist() for name in label.unique()]
    is_accurate = mean_interval(correct).low > counts.max().item() / len(label)
    return is_accurate or _balanced_low(by_label) > 1 / len(by_label)


def _balanced_low(by_label: Sequence[Sequence[float]]) -> float:
    """The lower end of the interval of balanced accuracy, given the texts of each label.

    The variance within a label is that of a share with two correct and two wrong texts more (Agresti and Coull 1998):
    a rare label whose few texts all happen to be correct is not taken as certain.
    """
    accuracy = [sum(texts) / len(texts) for texts in by_label]
    shrunk = [(sum(texts) + 2) / (len(texts) + 4) for texts in by_label]
    variances = [share * (1 - share) / (len(texts) + 4) for share, texts in zip(shrunk, by_label, strict=True)]
    df_terms = [variance**2 / max(1, len(texts) - 1) for variance, texts in zip(variances, by_label, strict=True)]
    total = sum(variances)
    return (sum(accuracy) - t_quantile(TAIL, total**2 / sum(df_terms)) * sqrt(total)) / len(by_label)


HALVES_SEED = 0
"""Which texts the ranking to show is chosen on, if there are no dev texts."""


@dataclass(frozen=True)
class Judged:
    """Outcomes of some texts by every seed that counts.

    Args:
        frames: the table of each seed, of the same split.
        is_learned: whether the model is significantly better than a constant prediction.
    """

    frames: Sequence[pl.DataFrame]
    labels: Sequence[str]
    settings: AuditSettings
    item: str
    is_learned: bool = True

    @cached_property
    def rankings(self) -> tuple[str, ...]:
        """All rankings that have outcomes, attention first."""
        return tuple(name for name in self._names if name not in VARIANTS)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """Other definitions of the outcome by which attention was judged."""
        return tuple(name for name in self._names if name in VARIANTS)

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(name for frame in self.frames for name in frame["ranking"].unique(maintain_order=True))

    def outcomes(self, ranking: str, removal: Removal = "delete") -> Outcomes:
        """Outcomes of one ranking."""
        return outcomes_of(self.frames, self.labels, ranking, removal)

    def candidate(self, ranking: str, texts: Tensor | None = None, *, replaced: bool = True) -> Candidate:
        """A ranking with its answers.

        Args:
            texts: places of the texts that count; None: all.
            replaced: whether an answer under `replace` counts, too.
        """
        outcomes = [self.outcomes(ranking)]
        if replaced and self.has_replaced:
            outcomes.append(self.outcomes(ranking, "replace"))
        if texts is not None:
            outcomes = [each.of_texts(texts) for each in outcomes]
        overall, classes = answer_all(
            outcomes[0],
            self.labels,
            self.settings.verdict,
            item=self.item,
            is_learned=self.is_learned,
            replaced=outcomes[1] if len(outcomes) > 1 else None,
        )
        return Candidate(ranking, overall, classes)

    @cached_property
    def has_replaced(self) -> bool:
        """Whether words were also replaced."""
        return any((frame["removal"] == "replace").any() for frame in self.frames)

    @property
    def mean_words(self) -> float:
        """Mean number of words of a text."""
        return float(pl.concat(self.frames)["words"].mean() or 0.0)  # pyright: ignore[reportArgumentType]


def answer_audit(
    columns: Columns,
    outcomes: Sequence[pl.DataFrame],
    split: str,
    labels: Sequence[str],
    settings: AuditSettings,
    *,
    item: str = "word",
    milliseconds: Mapping[str, float] | None = None,
    moved_note: str = "",
    examples: Sequence[ShownText | None] = (),
) -> AuditAnswer:
    """The answer of an audit of one seed or several.

    Args:
        columns: what tests measured of the texts, of which labels and correct predictions are read.
        outcomes: the table of each seed, of the audited texts and of dev texts.
        split: the audited one.
        milliseconds: per text, that the scores of each ranking took.
        moved_note: why there is no share of moved information.
        examples: a text of each seed, to be shown.
    """
    counted, left_out, is_learned, is_checked = _gate(columns, len(outcomes))
    audited = [outcomes[seed].filter(pl.col("split") == split) for seed in counted]
    test = Judged(audited, labels, settings, item, is_learned)
    dev = Judged([outcomes[seed].filter(pl.col("split") != split) for seed in counted], labels, settings, item)
    attention = test.candidate("attention")
    headline = headline_of(attention.overall, attention.classes)
    times = milliseconds or {}
    chosen, report, chosen_on = _chosen(test, dev)
    is_wrong = flags_of(test.frames, "is_correct") == 0
    wrong = shares_of(test.outcomes("attention").where(is_wrong), settings.verdict) if is_wrong.any() else None
    wrong_sentence = ""
    if wrong is not None and wrong.texts >= settings.verdict.wrong_texts and wrong.points.n:
        points = per_100(wrong.points)
        wrong_sentence = f"Of {wrong.texts} wrong predictions, attention points to the key {item}s in {points}."
    most_common = None
    if is_checked:
        audited_labels = columns["prediction.label"][0]
        most_common = audited_labels.unique(return_counts=True)[1].max().item() / len(audited_labels)
    names = [outcomes[seed]["run"][0] for seed in left_out if len(outcomes[seed])]
    answered = [each for each in attention.classes if each.answer != "Too few texts"]
    agreed = {each.answer for each in answered} == {headline} or not answered
    return AuditAnswer(
        headline=headline,
        sentence=attention.overall.sentence if agreed else "",
        overall=attention.overall,
        classes=tuple(attention.classes),
        recommendation=recommend(
            headline,
            attention,
            chosen,
            report,
            chosen_on=chosen_on,
            item=item,
            milliseconds=times.get(chosen.name) if chosen else None,
        ),
        rankings=tuple(_ranking_share(test.candidate(name), times) for name in test.rankings),
        variants={name: test.candidate(name, replaced=False).overall for name in test.variants},
        moved=_moved(test) if not moved_note else None,
        moved_note=moved_note,
        wrong=wrong,
        wrong_sentence=wrong_sentence,
        uncounted=_uncounted(audited),
        left_out=tuple(names),
        most_common=most_common,
        is_checked=is_checked,
        example=next((examples[seed] for seed in counted if seed < len(examples)), None),
    )


def _gate(columns: Columns, seeds: int) -> tuple[list[int], list[int], bool, bool]:
    """Seeds that count, seeds that are left out, whether the model is better than a constant, whether that is known."""
    everyone = list(range(seeds))
    if not is_labeled(columns):
        predicted = columns.get("prediction.predicted")
        return everyone, [], predicted is None or len(predicted.unique()) > 1, False
    names = ("prediction.correct", "prediction.label")
    if not beats_constant_prediction({name: columns[name] for name in names}):
        return everyone, [], False, True
    learned = [beats_constant_prediction({name: columns[name][seed : seed + 1] for name in names}) for seed in everyone]
    if not any(learned):
        return everyone, [], False, True
    return [s for s in everyone if learned[s]], [s for s in everyone if not learned[s]], True, True


def _chosen(test: Judged, dev: Judged) -> tuple[Candidate | None, Callable[[str], Candidate], str]:
    """The ranking chosen on dev texts, or on half of the audited ones; how to test it; and on which texts."""
    others = [name for name in test.rankings if name != "attention"]
    if dev.outcomes("attention").predicted.shape[1] >= test.settings.verdict.dev_texts:
        known = [name for name in others if name in dev.rankings]
        chosen = choose([dev.candidate(name, replaced=False) for name in known], test.mean_words)
        return chosen, test.candidate, "dev texts"
    count = test.outcomes("attention").predicted.shape[1]
    order = torch.randperm(count, generator=torch.Generator().manual_seed(HALVES_SEED))
    first, second = order[: count // 2], order[count // 2 :]
    chosen = choose([test.candidate(name, first, replaced=False) for name in others], test.mean_words)
    return chosen, lambda name: test.candidate(name, second), "half of the audited texts, and tested on the other half"


def _ranking_share(candidate: Candidate, milliseconds: Mapping[str, float]) -> RankingShare:
    overall = candidate.overall
    return RankingShare(
        name=candidate.name,
        title=ranking_title(candidate.name),
        price=price_text(candidate.name),
        milliseconds=milliseconds.get(candidate.name),
        answer=overall.answer,
        points=overall.shares.points,
        replaced=overall.replaced.points if overall.replaced else None,
    )


def _moved(test: Judged) -> Interval | None:
    """Share of texts with moved information, among those in which a small set decides."""
    moved = flags_of(test.frames, "is_moved")
    estimate = share_interval(moved, test.settings.verdict.level)
    return interval_of(estimate) if estimate.n else None


def _uncounted(frames: Sequence[pl.DataFrame]) -> dict[str, int]:
    """Number of texts without an outcome, by why; a text counts once, whatever the number of seeds."""
    deleted = pl.concat(frames).filter((pl.col("removal") == "delete") & (pl.col("ranking") == "attention"))
    counts = {why: deleted.filter(pl.col("reason") == why)["example"].n_unique() for why in UNCOUNTED}
    return {why: count for why, count in counts.items() if count}
