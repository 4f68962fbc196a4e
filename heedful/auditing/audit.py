"""An audit, whole: rows, the texts they speak of, and the verdict."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl

import heedful
from heedful.auditing.about import about_attention
from heedful.auditing.attended_words import indicative_words, words_of
from heedful.auditing.comparison_rows import adversary_rows, companion_rows, join_shards
from heedful.auditing.description import describe
from heedful.auditing.heads import asks_of_heads, heads_of
from heedful.auditing.outcomes import can_impose
from heedful.auditing.prepared import CustomModel, PreparedAudit, Scores, prepare_audit
from heedful.auditing.rows import names_of, outcomes_alone, shard_rows
from heedful.auditing.shards import Shard, ShardInfo
from heedful.auditing.subject import Subject
from heedful.auditing.words import OwnWords
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.schema import (
    OUTCOMES,
    AuditAnswer,
    Heads,
    Line,
    Recommendation,
    Shares,
    ShownText,
    TextOutcome,
    Verdict,
    Words,
)
from heedful.settings import AuditSettings
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model
from heedful.verdict.pooling import pooled_verdict
from heedful.verdict.scoring import columns_of

NOT_IMPOSED = "Attention at this site and scope is not imposed on the row that the classifier reads alone."

Report = Callable[[int, int], None]


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
        """Whether attention can be shown: `audit.answer.headline`, `.overall`, `.classes`; None if not asked for."""
        return self.verdict.answer

    @property
    def shares(self) -> tuple[Shares, ...]:
        """Shares of texts by outcome: of all texts, then of each predicted class."""
        return () if self.answer is None else self.answer.shares

    @property
    def recommendation(self) -> Recommendation | None:
        """What to show a reader; None if the answer was not asked for."""
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

        `heedful.load`, `heedful report` and `heedful compare` read the folder. An audit that was saved there before
        makes way; a folder that holds anything else is left as it is, with an error.
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


def audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    comparison_models: ComparisonModels[Trained | Model] = ComparisonModels(),  # noqa: B008 (frozen)
    *,
    words: OwnWords | None = None,
    name: str = "",
    labels: Sequence[str] = (),
    scores: Scores | None = None,
    device: str | None = None,
    report: Report | None = None,
) -> Audit:
    """Put every test to a model: one of ours with its data set, or any object with the protocol's verbs.

    Args:
        words: the words of a model of the user's own: a list for each text, in the order of the texts, with a word for
            each item that attention weighs; or a dict or function from the number of a token to its word.
        name: what a model of the user's own is called; empty: by its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
        scores: scores of words from outside, by name: rankings to be tested beside attention.
        device: where it is measured; None: our models on the processor, others where they are.
        report: called with (texts done, texts in all) after every batch.
    """
    own = CustomModel(words, name, labels)
    prepared = prepare_audit(model, data, settings, comparison_models, own=own, scores=scores, device=device)
    shards: list[Shard] = []
    for number in range(len(prepared.shards)):
        done = sum(shard.facts.texts for shard in shards)
        shards.append(
            audit_shard(prepared, number, report and partial(_from, done, len(prepared.subject.texts), report))
        )
    rest, whole = audit_extras(prepared), join_shards(shards)
    outcomes = pl.concat([whole.outcomes, rest.outcomes])
    return Audit(whole.rows, whole.examples, verdict_of(prepared, whole.rows, outcomes, whole.facts, rest), outcomes)


@dataclass(frozen=True)
class AuditExtras:
    """Parts of an audit that are not of its shards.

    Args:
        outcomes: of dev texts.
        words: the most and the least attended.
        indicative_words: how many label-indicative words the texts have; None where nobody asked.
        heads: of a transformer.
        seconds: how long it took.
    """

    outcomes: pl.DataFrame
    words: Words | None = None
    indicative_words: int | None = None
    heads: Heads | None = None
    seconds: float = 0.0


def _from(before: int, total: int, report: Report, done: int) -> None:
    report(before + done, total)


def audit_shard(prepared: PreparedAudit, number: int, report: Callable[[int], None] | None = None) -> Shard:
    """What the tests find in the texts of the shard of that number, also beside other models.

    Args:
        report: called with the number of its texts done after every batch.
    """
    began, chosen, settings = time.perf_counter(), prepared.shards[number], prepared.settings
    subject, comparison_models = (
        prepared.subject.part(chosen),
        prepared.comparison_models.map(lambda other: other.part(chosen)),
    )
    shard = shard_rows(subject, settings, number, report)
    shard = replace(shard, rows=pl.concat([shard.rows, *companion_rows(subject, comparison_models, settings)]))
    if comparison_models.adversaries:
        adversaries, predictions = adversary_rows(subject, comparison_models.adversaries)
        shard = replace(shard, adversaries=adversaries, predictions=predictions)
    return replace(shard, facts=replace(shard.facts, seconds=time.perf_counter() - began))


def audit_extras(prepared: PreparedAudit) -> AuditExtras:
    """What is measured of the model beside the shards of its texts."""
    began, subject, settings = time.perf_counter(), prepared.subject, prepared.settings
    model, data = prepared.model, prepared.data
    dev = _dev_outcomes(model, data, settings, prepared.subject_for)
    words, heads = words_of(subject, settings), None
    if isinstance(model, TransformerModel) and isinstance(data, Dataset) and asks_of_heads(settings):
        heads = heads_of(model, data, settings)
    indicative = words.polar if words else indicative_words(subject, settings)
    return AuditExtras(dev, words, indicative, heads, time.perf_counter() - began)


def verdict_of(
    prepared: PreparedAudit,
    rows: pl.DataFrame | pl.LazyFrame,
    outcomes: pl.DataFrame,
    facts: ShardInfo,
    rest: AuditExtras,
) -> Verdict:
    """The verdict, from the rows and outcomes of all texts and the rest."""
    subject, model, data = prepared.subject, prepared.model, prepared.data
    columns = columns_of([rows])
    about = about_attention(model, columns) if isinstance(model, TransformerModel) else ()
    verdict = Verdict(
        **describe(prepared, columns),
        lines=(),
        words=rest.words,
        indicative_words=rest.indicative_words,
        counted_on=subject.counted_on,
        about=about,
        heads=rest.heads,
        notes=(*(data.notes if isinstance(data, Dataset) else ()), *subject.notes, *subject.given.notes),
        skipped=dict(facts.skipped),
        substitutions=facts.substitutions,
        synonym_source=" ".join(facts.synonym_sources),
        milliseconds={name: 1_000 * own / max(1, facts.texts) for name, own in facts.ranking_seconds.items()},
        passes=dict(facts.passes),
        moved_note="" if can_impose(subject.model) else NOT_IMPOSED,
        example=example_of(subject, outcomes),
        seconds=facts.seconds + rest.seconds,
    )
    return pooled_verdict([verdict], [rows], [outcomes])


def example_of(subject: Subject, outcomes: pl.DataFrame) -> ShownText | None:
    """The text of lower median length among those of attention's most frequent outcome; None if none has an outcome."""
    own = outcomes.filter(
        (pl.col("split") == subject.split)
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
    names = names_of(subject, row["example"], row["words"])
    return ShownText(example=row["example"], items=tuple(names), outcome=TextOutcome.model_validate(row))


def _dev_outcomes(
    model: Trained | Model, data: Dataset | Sequence[Batch], settings: AuditSettings, prepare: Callable[..., Subject]
) -> pl.DataFrame:
    """Outcomes of dev texts, on which the ranking to show is chosen; empty if there are none, or they are audited."""
    has_dev = isinstance(model, Trained | TransformerModel) and isinstance(data, Dataset) and bool(data.dev)
    is_asked = settings.has_answer and settings.outcome.dev_texts > 0
    if not has_dev or not is_asked or settings.split == "dev":
        return pl.DataFrame(schema=OUTCOMES)
    on_dev = update_settings(settings, {"split": "dev", "examples": settings.outcome.dev_texts, "details": False})
    return outcomes_alone(prepare(model, settings=on_dev), on_dev)
