"""Served models: each reads one text at a time and keeps the last ones."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from threading import Lock, RLock

import polars as pl
import torch

from heedful.data import DATASETS, named_sets
from heedful.errors import HeedfulError, SettingError, StoreError
from heedful.explaining.explanation import guidance_of, settings_of
from heedful.models.abilities import linear
from heedful.report.audits import AuditFiles, audited_model
from heedful.server.actions import ACTIONS
from heedful.server.contract import MOST_WORDS, ExampleText, ModelInfo
from heedful.store.store import Store
from heedful.subjects.opening import load_texts, open_subject
from heedful.subjects.read_text import Reader, ReadText, written
from heedful.subjects.subject import Subject
from heedful.types import Dataset
from heedful.verdict.answer_text import answer_badge

# Texts to begin with: of a model's audit, or of the data that it was trained on.

MOST = 12
LONGEST = 1_200
"""Characters of an example, at most."""


def examples_of_audit(audit: AuditFiles) -> list[ExampleText]:
    """The texts whose words the audit shows, with their human rationales."""
    marked = audit.rows.filter(pl.col("item").is_not_null(), pl.col("measure") == "rationale")
    marks = {
        number: sorted(item for item, value in zip(items, values, strict=True) if value == 1)
        for number, items, values in marked.group_by("example").agg("item", "value").iter_rows()
    }
    texts = [
        ExampleText(
            text=row["text"] or " ".join(row["items"]),
            query=row["query"] or "",
            label=row["label"],
            marks=marks.get(row["example"]),
        )
        for row in audit.examples.sort("example").iter_rows(named=True)
    ]
    return _chosen(texts)


def examples_of_data(subject: Subject) -> list[ExampleText]:
    """Texts of the test split that the model was trained with; none if the data is not available, or changed.

    Only generated data and named datasets are read, since a run can be untrusted.
    """
    data = subject.own_data
    if data is None or (data.source not in DATASETS and data.source not in named_sets()):
        return []
    try:
        dataset = load_texts(subject)
    except (HeedfulError, OSError):
        return []
    assert isinstance(dataset, Dataset)
    return _chosen(
        ExampleText(
            text=example.text or " ".join(example.tokens),
            query=example.query_text or " ".join(example.query),
            label=dataset.labels[example.label],
            marks=None if example.rationale is None else sorted(example.rationale),
        )
        for example in dataset.test
    )


def _chosen(texts: Iterable[ExampleText]) -> list[ExampleText]:
    """Some texts that are not too long, with alternating labels."""
    by_label: dict[str, list[ExampleText]] = {}
    for text in texts:
        own = by_label.setdefault(text.label, [])
        if len(text.text) <= LONGEST and len(own) < MOST:
            own.append(text)
    turns = chain.from_iterable(zip_longest(*by_label.values()))
    return [text for text in turns if text is not None][:MOST]


MOST_TEXTS = 64
"""Number of last texts that are kept for each model."""
MOST_WORDS_KEPT = 20_000
"""Words of all these texts together."""


class ModelGone(StoreError):
    """The files of a served model were deleted or moved."""


class ServedModel:
    """A model, its facts, and the texts that it read last. Threads take turns.

    Args:
        audit: the model's audit; None if it has none.
        problem: why the model can no longer be served, as a sentence; empty if it can.
        most_texts: number of texts to keep.
    """

    def __init__(
        self,
        info: ModelInfo,
        reader: Reader,
        *,
        audit: AuditFiles | None = None,
        problem: Callable[[], str] = lambda: "",
        most_texts: int = MOST_TEXTS,
    ):
        self.info, self.audit = info, audit
        self.settings = settings_of(None if audit is None else audit.verdict)
        self._reader, self._problem, self._most = reader, problem, most_texts
        marked = (each for each in info.examples if each.marks is not None)
        self._marks = {(each.text, each.query): tuple(each.marks or ()) for each in marked}
        self._turn, self._report_turn = RLock(), Lock()
        self._texts: OrderedDict[tuple[str, str], ReadText] = OrderedDict()
        self._report = ""

    @contextmanager
    def reading(self, text: str, query: str = "") -> Iterator[ReadText]:
        """The text as the model reads it, while no other thread uses the model."""
        self.check()
        with self._turn, torch.no_grad():
            yield self.read(text, query)

    def read(self, text: str, query: str = "") -> ReadText:
        """The text, kept or read now; call it within `reading`."""
        key = (text, query)
        if key in self._texts:
            self._texts.move_to_end(key)
            return self._texts[key]
        read = self._reader(text, query)
        if (marks := self._marks.get(key)) is not None:
            read = replace(read, marks=tuple(place for place in marks if place < len(read.words)))
        self._texts[key] = read
        while len(self._texts) > self._most or (self._words() > MOST_WORDS_KEPT and len(self._texts) > 1):
            self._texts.popitem(last=False)
        return read

    def check(self) -> None:
        """Refuse if the model's files were deleted or moved."""
        if problem := self._problem():
            raise ModelGone(problem)

    def report(self) -> str:
        """The page of the model's audit, rendered at the first request."""
        from heedful.report.page import render_page

        if self.audit is None:
            raise StoreError(f"model {self.info.id} has no audit, and so no report. Run `heedful audit` for it first.")
        with self._report_turn:
            self._report = self._report or render_page([self.audit])
            return self._report

    def _words(self) -> int:
        return sum(len(read.words) for read in self._texts.values())


# Models to serve: finished runs by their keys, Hugging Face classifiers by their folders.

TRANSFORMER_TEXTS = 8
"""Number of texts that are kept for a transformer, whose states are large."""


def load_served(
    names: Sequence[str], *, runs: str | Path = "runs", audits: str | Path = "audits", device: str = "cpu"
) -> list[ServedModel]:
    """The named models, ready to be served.

    Args:
        names: keys of finished runs (a unique prefix is enough), folders of Hugging Face classifiers, `hf:NAME`.
    """
    store, served = Store(runs), []
    for name in names:
        served.append(serve_subject(open_subject(name, store, device=device), Path(audits)))
        if served[-1].info.id in {other.info.id for other in served[:-1]}:
            raise SettingError(f"MODEL must name each model once; '{name}' is named twice.")
    shown = [model.info.name for model in served]
    for model in served:
        if shown.count(model.info.name) > 1:
            apart = ", ".join(part for part in (model.info.about.get("Data", ""), model.info.id[:6]) if part)
            model.info = ModelInfo.model_validate({**dict(model.info), "name": f"{model.info.name} ({apart})"})
    return served


def serve_subject(subject: Subject, audits: Path | None = None) -> ServedModel:
    """A subject, ready to be served until its files are deleted or moved.

    Args:
        audits: folder of its audit.
    """
    if not subject.reads_text:
        raise SettingError(f"MODEL must be one that reads texts. Heedful has no tokenizer for {subject.name}.")
    audit = None if audits is None else audited_model(audits, subject.key)
    labels = tuple(subject.labels if audit is None else audit.verdict.labels)
    answer = None if audit is None else audit.verdict.answer
    is_linear, model = linear(subject.model) is not None, subject.facts["Model"]
    info = ModelInfo(
        id=subject.key,
        name=written(Path(model).name if "/" in model else model),
        about={name: written(value) for name, value in subject.facts.items()},
        labels=[written(label) for label in labels],
        item="sentence" if subject.item == "sentence" else "word",
        is_linear=is_linear,
        is_hierarchical=subject.item == "sentence",
        has_query=subject.reads_query,
        solver=("exact" if len(labels) == 2 else "bound") if is_linear else "search",
        examples=([] if audit is None else examples_of_audit(audit)) or examples_of_data(subject),
        actions=[action.info for action in ACTIONS.values()],
        guidance=None if audit is None else guidance_of(audit.verdict, "`heedful audit` without `--tests`"),
        answer_kind=answer_badge(answer.headline)[0] if answer else "none",
        lines=() if audit is None else audit.verdict.lines,
    )

    def problem() -> str:
        if subject.file is None or subject.file.is_file():
            return ""
        kind, folder = "run" if subject.site is None else "model", subject.file.parent
        return (
            f"the {kind} {folder.name} is no longer in {folder.parent}/: it was deleted or moved. Restart `heedful "
            "serve`."
        )

    return ServedModel(
        info,
        partial(subject.read, labels=labels, most=MOST_WORDS),
        audit=audit,
        problem=problem,
        most_texts=MOST_TEXTS if subject.site is None else TRANSFORMER_TEXTS,
    )
