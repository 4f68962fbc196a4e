"""A model that is served: read one text at a time, the last texts kept."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from threading import Lock, RLock

import polars as pl
import torch

from heedful.auditing.explain import described_model
from heedful.auditing.explanation import Solver
from heedful.auditing.guidance import guidance_of, settings_of
from heedful.data import DATASETS, named_sets
from heedful.data import load as load_dataset
from heedful.errors import HeedfulError, SettingError, StoreError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.report.audits import AuditFiles, audited_model
from heedful.runs.classifiers import CONFIGURATION, is_classifier, load_view, run_of
from heedful.server.actions import ACTIONS
from heedful.server.classifier_reader import ClassifierReader
from heedful.server.contract import ExampleText, ModelInfo
from heedful.server.reading import Reader, ReadText, written
from heedful.server.run_reader import RunReader
from heedful.settings import Run, key_of
from heedful.store.run_file import RUN_FILE
from heedful.store.store import Store, find_finetuned, is_finetuned
from heedful.training.trained import Trained
from heedful.types import LinearModel

# Texts to begin with: of a model's audit, or of the data that it was trained on.

MOST = 12
LONGEST = 1_200
"""Characters of an example, at most."""


def examples_of_audit(audit: AuditFiles) -> list[ExampleText]:
    """The texts that the audit shows word by word, with what people marked in them."""
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


def examples_of_data(run: Run) -> list[ExampleText]:
    """Texts of the run's test split; none if the data is not available, or changed.

    Only what Heedful generates, or has under a name, is read: a run may come from strangers, and what it names with it.
    """
    if run.data.source not in DATASETS and run.data.source not in named_sets():
        return []
    try:
        dataset = load_dataset(run.data, run.text, sentences=run.reads_sentences)
    except (HeedfulError, OSError):
        return []
    if run.data.fingerprint not in ("", dataset.fingerprint):
        return []
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
    """Some texts that are not too long, the labels taking turns."""
    by_label: dict[str, list[ExampleText]] = {}
    for text in texts:
        own = by_label.setdefault(text.label, [])
        if len(text.text) <= LONGEST and len(own) < MOST:
            own.append(text)
    turns = chain.from_iterable(zip_longest(*by_label.values()))
    return [text for text in turns if text is not None][:MOST]


MOST_TEXTS = 64
"""Texts that are kept for each model, the last that were read."""
MOST_WORDS_KEPT = 20_000
"""Words of all of these together."""


class ModelGone(StoreError):
    """The files of a served model are no longer there."""


class ServedModel:
    """A model, what is known of it, and the texts that it read last. Threads take turns.

    Args:
        audit: the model's audit; None where it has none.
        problem: why the model can no longer be served, as a sentence; empty where it can.
        most_texts: that are kept.
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
        """The text as the model reads it, with the model to oneself."""
        self.check()
        with self._turn, torch.no_grad():
            yield self.read(text, query)

    def read(self, text: str, query: str = "") -> ReadText:
        """The text, found or read now; to be called in one's turn."""
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
        """Refuse to go on where the model's files are gone."""
        if problem := self._problem():
            raise ModelGone(problem)

    def report(self) -> str:
        """The page of the model's audit, drawn when it is first asked for."""
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
"""Texts that are kept of a transformer, whose states are large."""


def load_served(
    names: Sequence[str], *, runs: str | Path = "runs", audits: str | Path = "audits", device: str = "cpu"
) -> list[ServedModel]:
    """The named models, ready to be served.

    Args:
        names: keys of finished runs (their first characters will do), folders of Hugging Face classifiers, `hf:NAME`.
    """
    store, served = Store(runs), []
    for name in names:
        if not name.strip():
            raise SettingError(f"MODEL must be the key of a finished run or a Hugging Face model; it was '{name}'.")
        served.append(_load(name, store, Path(audits), device))
        if served[-1].info.id in {other.info.id for other in served[:-1]}:
            raise SettingError(f"MODEL must name each model once; '{name}' is named twice.")
    shown = [model.info.name for model in served]
    for model in served:
        if shown.count(model.info.name) > 1:
            apart = ", ".join(part for part in (model.info.about.get("Data", ""), model.info.id[:6]) if part)
            model.info = ModelInfo.model_validate({**dict(model.info), "name": f"{model.info.name} ({apart})"})
    return served


def _load(name: str, store: Store, audits: Path, device: str) -> ServedModel:
    # A key comes first: a folder of the same name is given as ./NAME.
    is_key = store.has_prefix(name)
    if is_key and is_finetuned(store, name):
        return serve_classifier(str(find_finetuned(store, name).folder), audits=audits, device=device)
    if not is_key and is_classifier(name):
        return serve_classifier(name, audits=audits, device=device)
    trained = store.load(store.find(name))
    run = trained.run
    imposes = run.network.attention == "frozen" and run.reference is not None
    reference = store.load(run.reference) if imposes and run.reference else None
    folder = store.folder / key_of(run)
    return serve_run(trained, folder=folder, audits=audits, device=device, reference=reference)


def serve_run(
    trained: Trained,
    *,
    folder: Path | None = None,
    audits: Path | None = None,
    device: str = "cpu",
    reference: Trained | None = None,
) -> ServedModel:
    """A finished run, ready to be served.

    Args:
        folder: where it is stored: once that is gone, it is served no longer.
        audits: where its audit may be.
        reference: the run whose attention it imposes.
    """
    reader, key = RunReader(trained, device=device, reference=reference), key_of(trained.run)
    audit = None if audits is None else audited_model(audits, key)
    is_linear = isinstance(reader.model, LinearModel)
    solver = ("exact" if len(trained.labels) == 2 else "bound") if is_linear else "search"
    info = _info(
        key,
        described_model(trained),
        trained.labels,
        audit,
        trained.run,
        is_linear=is_linear,
        is_hierarchical=trained.run.network.encoder == "hierarchical",
        has_query=reader.has_query,
        solver=solver,
    )
    return ServedModel(info, reader, audit=audit, problem=lambda: _missing(folder, RUN_FILE, "run"))


def serve_classifier(name: str, *, audits: Path | None = None, device: str = "cpu") -> ServedModel:
    """A Hugging Face classifier, ready to be served."""
    model = load_view(name, device=device)
    place = Path(name).expanduser()
    folder = place if (place / CONFIGURATION).is_file() else None
    return serve_view(model, run=run_of(name), folder=folder, audits=audits)


def serve_view(
    model: TransformerModel, *, run: Run | None = None, folder: Path | None = None, audits: Path | None = None
) -> ServedModel:
    """A view of a Hugging Face classifier, ready to be served.

    Args:
        run: the settings that it was fine-tuned with, where it was by Heedful.
    """
    audit = None if audits is None else audited_model(audits, model.key)
    labels = model.classifier.labels if audit is None else audit.verdict.labels
    has_query = run is not None and run.data.query is not None
    info = _info(model.key, described_model(model), labels, audit, run, has_query=has_query)
    return ServedModel(
        info,
        ClassifierReader(model, tuple(labels), has_query=has_query),
        audit=audit,
        problem=lambda: _missing(folder, CONFIGURATION, "model"),
        most_texts=TRANSFORMER_TEXTS,
    )


def _info(
    key: str,
    about: Mapping[str, str],
    labels: Sequence[str],
    audit: AuditFiles | None,
    run: Run | None,
    *,
    is_linear: bool = False,
    is_hierarchical: bool = False,
    has_query: bool = False,
    solver: Solver = "search",
) -> ModelInfo:
    """What the page knows of the model; its name may be made longer if another has the same."""
    examples = ([] if audit is None else examples_of_audit(audit)) or ([] if run is None else examples_of_data(run))
    return ModelInfo(
        id=key,
        name=written(Path(about["Model"]).name if "/" in about["Model"] else about["Model"]),
        about={name: written(value) for name, value in about.items()},
        labels=[written(label) for label in labels],
        item="sentence" if is_hierarchical else "word",
        is_linear=is_linear,
        is_hierarchical=is_hierarchical,
        has_query=has_query,
        solver=solver,
        examples=examples,
        actions=[action.info for action in ACTIONS.values()],
        guidance=None if audit is None else guidance_of(audit.verdict, "`heedful audit` without `--tests`"),
        lines=() if audit is None else audit.verdict.lines,
    )


def _missing(folder: Path | None, name: str, kind: str) -> str:
    """Why a model is served no longer; empty where its folder is still there."""
    if folder is None or (folder / name).is_file():
        return ""
    return (
        f"the {kind} {folder.name} is no longer in {folder.parent}/: it was deleted or moved. Restart `heedful serve`."
    )
