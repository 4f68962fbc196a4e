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
from heedful.auditing.companions import Companions, adversary_rows, companion_rows, join_shards
from heedful.auditing.description import describe
from heedful.auditing.heads import asks_of_heads, heads_of
from heedful.auditing.prepared import OwnModel, PreparedAudit, Scores, prepare_audit
from heedful.auditing.rows import audit_rows, shard_rows
from heedful.auditing.shards import Facts, Shard
from heedful.auditing.subject import Subject
from heedful.auditing.words import OwnWords
from heedful.models.transformers.model import TransformerModel
from heedful.schema import ROWS, Advice, Headline, Heads, Line, Verdict, Words
from heedful.settings import AuditSettings
from heedful.settings.validation import update_settings
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Model
from heedful.verdict.headline import headline
from heedful.verdict.pooling import pooled_verdict
from heedful.verdict.ranking_names import SHOWN
from heedful.verdict.scoring import columns_of

DEV_TEXTS = 500
"""Dev texts on which the ranking to show is chosen, at most; never more than are audited."""

Report = Callable[[int, int], None]


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit found. A notebook shows it; `save` keeps it, and `heedful.load` brings it back.

    It is drawn by the layers above this one, which `heedful` names and this module does not import.

    Args:
        examples: the texts that are shown word by word.
        dev: rows of the dev texts on which the ranking to show is chosen; empty where there are none.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    dev: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ROWS))

    @property
    def headline(self) -> Headline:
        """The answer, in words: `print(audit.headline.lead, *audit.headline.sentences)`."""
        return headline(self.verdict)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The verdict's questions, answered."""
        return self.verdict.lines

    @property
    def advice(self) -> Advice | None:
        """What to show; None where no decision could be changed, or no ranking was tested."""
        return self.verdict.advice

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
        return f"Audit({verdict.model or verdict.run}{on}, {texts}: {self.headline.lead})"


def audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    companions: Companions[Trained | Model] = Companions(),  # noqa: B008 (frozen)
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
    own = OwnModel(words, name, labels)
    prepared = prepare_audit(model, data, settings, companions, own=own, scores=scores, device=device)
    shards: list[Shard] = []
    for number in range(len(prepared.shards)):
        done = sum(shard.facts.texts for shard in shards)
        shards.append(
            audit_shard(prepared, number, report and partial(_from, done, len(prepared.subject.texts), report))
        )
    rest, whole = audit_rest(prepared), join_shards(shards)
    return Audit(whole.rows, whole.examples, verdict_of(prepared, whole.rows, whole.facts, rest), rest.dev)


@dataclass(frozen=True)
class Rest:
    """What an audit needs beside the rows of its texts.

    Args:
        dev: rows of dev texts.
        words: the most and the least attended.
        indicative_words: how many label-indicative words the texts have; None where nobody asked.
        heads: of a transformer.
        seconds: how long it took.
    """

    dev: pl.DataFrame
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
    subject, companions = prepared.subject.part(chosen), prepared.companions.map(lambda other: other.part(chosen))
    shard = shard_rows(subject, settings, number, report)
    shard = replace(shard, rows=pl.concat([shard.rows, *companion_rows(subject, companions, settings)]))
    if companions.adversaries:
        adversaries, predictions = adversary_rows(subject, companions.adversaries)
        shard = replace(shard, adversaries=adversaries, predictions=predictions)
    return replace(shard, facts=replace(shard.facts, seconds=time.perf_counter() - began))


def audit_rest(prepared: PreparedAudit) -> Rest:
    """What is measured of the model beside the shards of its texts."""
    began, subject, settings = time.perf_counter(), prepared.subject, prepared.settings
    model, data = prepared.model, prepared.data
    dev = _dev_rows(model, data, settings, len(subject.texts), prepared.subject_for)
    words, heads = words_of(subject, settings), None
    if isinstance(model, TransformerModel) and isinstance(data, Dataset) and asks_of_heads(settings):
        heads = heads_of(model, data, settings)
    indicative = words.polar if words else indicative_words(subject, settings)
    return Rest(dev, words, indicative, heads, time.perf_counter() - began)


def verdict_of(prepared: PreparedAudit, rows: pl.DataFrame | pl.LazyFrame, facts: Facts, rest: Rest) -> Verdict:
    """The verdict, from the rows of all texts and what was measured beside them."""
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
        not_asked=dict(facts.not_asked),
        substitutions=facts.substitutions,
        synonym_source=" ".join(facts.synonym_sources),
        seconds=facts.seconds + rest.seconds,
    )
    return pooled_verdict([verdict], [rows], [rest.dev])


def _dev_rows(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    texts: int,
    prepare: Callable[..., Subject],
) -> pl.DataFrame:
    """What the rankings that may be shown do on so many dev texts, which only a data set has; else nothing.

    They are compared with each other alone: by nothing that is never shown, nor at random. Nothing where dev texts are
    what is audited.
    """
    chosen_rankings = "by" in settings.options.get("erase_until_flip", {})
    is_left_out = bool(settings.tests) and "erase_until_flip" not in settings.tests
    has_dev = isinstance(model, Trained | TransformerModel) and isinstance(data, Dataset) and bool(data.dev)
    if not has_dev or chosen_rankings or is_left_out or settings.split == "dev":
        return pl.DataFrame(schema=ROWS)
    erasure = {"by": tuple(SHOWN), "floors": False, **settings.options.get("erase_until_flip", {})}
    changes = {"tests": ("erase_until_flip",), "split": "dev", "shown": 0, "examples": min(DEV_TEXTS, texts)}
    changes["options"] = {**settings.options, "erase_until_flip": erasure}
    on_dev = update_settings(settings, changes)
    return audit_rows(prepare(model, settings=on_dev), on_dev).rows
