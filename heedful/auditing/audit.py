"""An audit, whole: rows, the texts they speak of, and the verdict."""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import polars as pl
import torch

import heedful
from heedful.auditing.comparison_rows import adversary_rows, companion_rows, join_shards
from heedful.auditing.heads import NEEDS, heads_of
from heedful.auditing.other_rankings import match_external_scores
from heedful.auditing.outcomes import can_impose
from heedful.auditing.rows import names_of, outcomes_alone, shard_rows
from heedful.auditing.shards import Shard, ShardInfo
from heedful.data.batching import shards_of
from heedful.errors import SettingError
from heedful.models.abilities import linear
from heedful.schema import (
    AuditAnswer,
    Heads,
    Line,
    Recommendation,
    Shares,
    ShownText,
    TextOutcome,
    Training,
    Verdict,
    Words,
)
from heedful.schema.table_columns import OUTCOMES
from heedful.settings import AuditSettings, ComparisonModels
from heedful.settings.validation import update_settings
from heedful.subjects.checks import named
from heedful.subjects.subject import Subject, SubjectTexts, float64_eval_copy
from heedful.token_scores import attended_words, token_classes
from heedful.types import Batch, Dataset
from heedful.verdict.pooling import pooled_verdict
from heedful.verdict.scoring import columns_of

NOT_IMPOSED = "Attention at this site and scope is not imposed on the row that the classifier reads alone."

Report = Callable[[int, int], None]
Scores = Mapping[str, Mapping[str, object]] | pl.DataFrame | str | Path
"""External scores: a table as a path or a data frame, or a dict by name and then by text."""


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found. A notebook shows it; `save` keeps it, and `heedful.load` brings it back.

    It is drawn by the layers above this one, which `heedful` names and this module does not import.

    Args:
        examples: the texts that are shown word by word.
        outcomes: one row per run, text, ranking and way of removing words; also of the dev texts on which the ranking
            to show is chosen.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    outcomes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=OUTCOMES))

    @property
    def answer(self) -> AuditAnswer | None:
        """Whether attention can be shown: `audit.answer.headline`, `.overall`, `.classes`; None if not requested."""
        return self.verdict.answer

    @property
    def shares(self) -> tuple[Shares, ...]:
        """Shares of texts by outcome: of all texts, then of each predicted class."""
        return () if self.answer is None else self.answer.shares

    @property
    def recommendation(self) -> Recommendation | None:
        """What to show a reader; None if the answer was not requested."""
        return None if self.answer is None else self.answer.recommendation

    @property
    def lines(self) -> tuple[Line, ...]:
        """The tests that explain the answer."""
        return self.verdict.lines

    def to_html(self) -> str:
        """The whole report: one page that needs nothing but itself."""
        return heedful.audit_page(self)

    def save(self, place: str | Path) -> Path:
        """Write the audit into a folder, or its report into a file that ends in .html; the place.

        `heedful.load`, `heedful report` and `heedful compare` read the folder. An audit that was saved there before is
        overwritten. A folder that holds anything else is left as it is, with an error.
        """
        return heedful.save_audit_to(self, place)

    def _repr_html_(self) -> str:
        return heedful.audit_in_notebook(self)

    def __repr__(self) -> str:
        verdict = self.verdict
        on = f" on {verdict.data}" if verdict.data else ""
        texts = f"{verdict.texts:,} {verdict.split} texts"
        answer = self.answer.headline if self.answer else f"{len(self.lines)} tests, no answer"
        return f"Audit({verdict.model or verdict.run}{on}, {texts}: {answer})"


@dataclass(frozen=True)
class PreparedAudit:
    """An audit that is ready to be made, shard by shard in any order.

    Args:
        texts: what is audited.
        comparison_models: models to compare it with, on the same texts.
    """

    subject: Subject
    data: Dataset | Sequence[Batch]
    settings: AuditSettings
    texts: SubjectTexts
    comparison_models: ComparisonModels[SubjectTexts]

    @cached_property
    def shards(self) -> list[range]:
        """The batches of each shard."""
        return shards_of(self.texts.batches.words)

    def texts_of(self, shard: int) -> int:
        """How many texts the shard of that number has."""
        return sum(self.texts.batches.texts[batch] for batch in self.shards[shard])


@dataclass(frozen=True)
class AuditExtras:
    """Parts of an audit that are not of its shards.

    Args:
        outcomes: outcomes of dev texts.
        words: the most and the least attended.
        indicative_words: how many label-indicative words the texts have; None if not counted.
        heads: heads of a transformer, measured one by one.
        seconds: how long it took.
    """

    outcomes: pl.DataFrame
    words: Words | None = None
    indicative_words: int | None = None
    heads: Heads | None = None
    seconds: float = 0.0


def audit_subject(
    subject: Subject,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    comparison_models: ComparisonModels[Subject] = ComparisonModels(),  # noqa: B008 (frozen)
    *,
    scores: Scores | None = None,
    report: Report | None = None,
) -> Audit:
    """Run every test on a subject with a dataset, or with the batches of a custom model.

    Args:
        scores: external scores, by name: rankings to test in addition to attention.
        report: called with (texts done, texts in all) after every batch.
    """
    prepared = prepare_audit(subject, data, settings, comparison_models, scores=scores)
    shards: list[Shard] = []
    done, total = 0, len(prepared.texts.numbers)
    for number in range(len(prepared.shards)):
        shards.append(
            audit_shard(prepared, number, report and (lambda more, before=done: report(before + more, total)))
        )
        done += shards[-1].facts.texts
    rest, whole = audit_extras(prepared), join_shards(shards)
    outcomes = pl.concat([whole.outcomes, rest.outcomes])
    return Audit(whole.rows, whole.examples, verdict_of(prepared, whole.rows, outcomes, whole.facts, rest), outcomes)


def prepare_audit(
    subject: Subject,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    comparison_models: ComparisonModels[Subject] = ComparisonModels(),  # noqa: B008 (frozen)
    *,
    scores: Scores | None = None,
) -> PreparedAudit:
    """The audit of a subject, with its texts in memory.

    Args:
        scores: external scores, by name: rankings to test in addition to attention.
    """
    settings = settings or AuditSettings()
    for value, kind, name in (
        (settings, AuditSettings, "settings"),
        (comparison_models, ComparisonModels, "comparison_models"),
    ):
        if not isinstance(value, kind):
            raise SettingError(f"{name} must be heedful.{kind.__name__}(...); it is {named(value)}.")
    texts = subject.texts(data, settings)
    texts = replace(texts, given=match_external_scores(scores, texts, settings))
    others = replace(comparison_models, reference=None)
    compared = others.map(lambda other: _same_classes(texts, other.texts(data, settings)))
    return PreparedAudit(subject, data, settings, texts, compared)


def _same_classes(texts: SubjectTexts, other: SubjectTexts) -> SubjectTexts:
    """The other model's texts, if it tells the same classes apart, and a transformer the same words."""
    if len(texts.labels) != len(other.labels):
        raise SettingError(
            f"comparison_models must tell the same {len(texts.labels)} classes apart as the model; one has "
            f"{len(other.labels)}."
        )
    for number in texts.numbers if texts.site is not None else ():
        own, compared = texts.examples[number].tokens, other.examples[number].tokens
        if own != compared:
            raise SettingError(
                "models that are audited together must cut texts into the same words; text "
                f"{number} has {len(own)} words for one and {len(compared)} for another: their tokenizers differ. "
                "Audit them one by one."
            )
    return other


def audit_shard(prepared: PreparedAudit, number: int, report: Callable[[int], None] | None = None) -> Shard:
    """Results of the tests on the texts of one shard, including comparisons with other models.

    Args:
        report: called with the number of its texts done after every batch.
    """
    began, chosen, settings = time.perf_counter(), prepared.shards[number], prepared.settings
    texts, others = prepared.texts.part(chosen), prepared.comparison_models.map(lambda other: other.part(chosen))
    shard = shard_rows(texts, settings, number, report)
    shard = replace(shard, rows=pl.concat([shard.rows, *companion_rows(texts, others, settings)]))
    if others.adversaries:
        adversaries, predictions = adversary_rows(texts, others.adversaries)
        shard = replace(shard, adversaries=adversaries, predictions=predictions)
    return replace(shard, facts=replace(shard.facts, seconds=time.perf_counter() - began))


def audit_extras(prepared: PreparedAudit) -> AuditExtras:
    """Measures of the model that are not made per shard."""
    began, subject, settings, data = time.perf_counter(), prepared.subject, prepared.settings, prepared.data
    dev, heads = pl.DataFrame(schema=OUTCOMES), None
    if isinstance(data, Dataset):
        # Dev texts choose the ranking to show.
        if data.dev and settings.has_answer and settings.outcome.dev_texts > 0 and settings.split != "dev":
            changes = {"split": "dev", "examples": settings.outcome.dev_texts, "details": False}
            on_dev = update_settings(settings, changes)
            dev = outcomes_alone(subject.texts(data, on_dev), on_dev)
        view = subject.usual_view() if not settings.tests or NEEDS in settings.tests else None
        heads = None if view is None else heads_of(view, data, settings)
    asks_of_words = prepared.texts.item == "word" and (not settings.tests or "token_scores" in settings.tests)
    words, indicative = _words_of(prepared.texts) if asks_of_words else (None, None)
    return AuditExtras(dev, words, indicative, heads, time.perf_counter() - began)


def _words_of(texts: SubjectTexts) -> tuple[Words | None, int]:
    """The most and the least attended words, where words alone decide attention; how many words indicate a label."""
    counts = texts.context.token_counts()
    if linear(texts.model) is not None:
        model = linear(float64_eval_copy(texts.model))
        assert model is not None
        words = attended_words(model, texts.batches(), counts, texts.context.vocabulary, texts.labels)
        return Words.model_validate(asdict(words)), words.polar
    indicates, item_words = token_classes(counts) >= 0, texts.context.item_words
    occurs = torch.zeros(len(indicates), dtype=torch.bool)
    for batch in texts.batches():
        tokens = batch.tokens[batch.attendable_mask].cpu() if item_words is None else item_words.numbers(batch)
        occurs[tokens[tokens >= 0]] = True
    return None, int((indicates & occurs).sum())


def verdict_of(
    prepared: PreparedAudit,
    rows: pl.DataFrame | pl.LazyFrame,
    outcomes: pl.DataFrame,
    facts: ShardInfo,
    rest: AuditExtras,
) -> Verdict:
    """The verdict, from the rows and outcomes of all texts and the rest."""
    subject, texts, data = prepared.subject, prepared.texts, prepared.data
    dataset, columns = data if isinstance(data, Dataset) else None, columns_of([rows])
    stored = subject.scores_on(dataset, texts.split) if dataset else None
    scores = stored
    if scores is None:  # how well it predicts the labels of the audited texts, if they have any
        is_labeled = not bool((columns["prediction.label"] < 0).any())
        scores = {"accuracy": columns["prediction.correct"][0].numpy().mean().item()} if is_labeled else {}
    run = None if subject.settings["run"] is None else subject.run
    verdict = Verdict(
        run=texts.name,
        model=subject.title,
        data=run.data.source if run and stored is not None else dataset.name if dataset else "",
        fingerprint=dataset.fingerprint if dataset else "",
        split=texts.split,
        texts=len(texts.numbers),
        labels=texts.labels,
        item=texts.item,
        scores=dict(scores),
        trainings=(Training(run=texts.name, seed=run.seed if run else None, scores=dict(scores)),),
        date=datetime.now(UTC).date().isoformat(),
        settings={"audit": prepared.settings.model_dump(mode="json"), **subject.settings},
        versions={"heedful": heedful.__version__, "torch": torch.__version__, "python": platform.python_version()},
        lines=(),
        words=rest.words,
        indicative_words=rest.indicative_words,
        counted_on=texts.counted_on,
        about=subject.about(columns),
        heads=rest.heads,
        notes=(*(dataset.notes if dataset else ()), *texts.notes, *texts.given.notes),
        skipped=dict(facts.skipped),
        substitutions=facts.substitutions,
        synonym_source=" ".join(facts.synonym_sources),
        milliseconds={name: 1_000 * own / max(1, facts.texts) for name, own in facts.ranking_seconds.items()},
        passes=dict(facts.passes),
        moved_note="" if can_impose(subject.model) else NOT_IMPOSED,
        example=example_of(texts, outcomes),
        seconds=facts.seconds + rest.seconds,
    )
    return pooled_verdict([verdict], [rows], [outcomes])


def example_of(texts: SubjectTexts, outcomes: pl.DataFrame) -> ShownText | None:
    """The text of lower median length among those of attention's most frequent outcome; None if none has an outcome."""
    own = outcomes.filter(
        (pl.col("split") == texts.split)
        & (pl.col("ranking") == "attention")
        & (pl.col("removal") == "delete")
        & pl.col("outcome").is_not_null()
    )
    if own.is_empty():
        return None
    most = own.group_by("outcome").len().sort(["len", "outcome"], descending=[True, False])["outcome"][0]
    chosen = own.filter(pl.col("outcome") == most).sort("words", "example")
    median = chosen["words"][(len(chosen) - 1) // 2]
    row = chosen.filter(pl.col("words") == median).row(0, named=True)
    names = names_of(texts, row["example"], row["words"])
    return ShownText(example=row["example"], items=tuple(names), outcome=TextOutcome.model_validate(row))
