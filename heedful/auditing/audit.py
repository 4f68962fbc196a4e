"""An audit, whole: rows, the texts they speak of, and the verdict; and its folder on disk.

audits/<key>/  audit.json         what was audited, with which settings
               rows.parquet       run, split, example, item, test, measure, value, solver
               examples.parquet   the texts that are shown word by word
               verdict.json       the lines of the verdict, and the ranking to show instead
"""

import json
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import torch

from heedful import __version__
from heedful.auditing.companions import Company, adversaries_rows, pair_rows, retrained_rows
from heedful.auditing.rows import audit_rows
from heedful.auditing.subject import Subject, measurable, subject_of, subject_of_batches
from heedful.errors import SettingError
from heedful.runs.store import written_whole
from heedful.settings import AuditSettings, audit_key_of, key_of
from heedful.token_scores import attended
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, LinearModel, Model
from heedful.verdict.scoring import Advice, Line, advise, columns_of, inexact_tests, verdict_lines

DEV_TEXTS = 500
"""Dev texts on which the ranking to show is chosen."""

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Args:
        lines: the verdict, a question each.
        advice: the ranking to show instead; None where no decision could be changed, or dev was not there.
        about: what was audited and how, for whoever reads the files.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    lines: tuple[Line, ...]
    advice: Advice | None
    about: dict[str, Any]


def audit(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings | None = None,
    company: Company = Company(),  # noqa: B008 (frozen)
    *,
    labels: Sequence[str] = (),
    device: str = "cpu",
    report: Report | None = None,
) -> Audit:
    """Put every test to a model: one of ours with its data set, or any object with the protocol's verbs.

    Args:
        labels: what the classes are called, where the data does not say.
        report: told (texts done, texts in all) after every batch.
    """
    settings, reference = settings or AuditSettings(), company.reference
    prepare = partial(_subject, data=data, settings=settings, labels=labels, device=device)
    subject = prepare(model, reference=reference)
    began = time.perf_counter()
    rows, examples = audit_rows(subject, settings, report)
    if company.retrained is not None:
        rows = pl.concat([rows, retrained_rows(subject, prepare(company.retrained), settings)])
    if company.seeds:
        rows = pl.concat([rows, pair_rows("seeds", subject, [prepare(one) for one in company.seeds], settings)])
    if company.adversaries:
        rows = pl.concat([rows, adversaries_rows(subject, [prepare(one) for one in company.adversaries])])
    item = "sentence" if subject.examples and subject.examples[0].sentences else "word"
    lines = lines_across([rows], settings.seed, item)
    advice = _advice(model, data, settings, rows, device, reference)
    about = _about(subject, model, settings) | _attended(subject, settings)
    about |= {"seconds": time.perf_counter() - began}
    return Audit(rows, examples, lines, advice, about)


def lines_across(audits: Sequence[pl.DataFrame], seed: int = 0, item: str = "word") -> tuple[Line, ...]:
    """The verdict from the rows of several seeds: seeds resampled outside texts from five on, else their range."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(verdict_lines(columns_of(audits), generator, inexact=inexact_tests(audits), item=item))


def ensure_audit(
    trained: Trained,
    dataset: Dataset,
    settings: AuditSettings,
    folder: Path,
    company: Company = Company(),  # noqa: B008 (frozen)
    *,
    device: str = "cpu",
    report: Report | None = None,
    command: str = "",
) -> Path:
    """The folder of this audit: found, or made now."""
    beside = {
        role: [key_of(one.run) for one in some if isinstance(one, Trained)]
        for role, some in (
            ("retrained", (company.retrained,)),
            ("seed", company.seeds),
            ("adversary", company.adversaries),
        )
    }
    place = folder / audit_key(key_of(trained.run), dataset.fingerprint, settings, beside)
    if not (place / "verdict.json").is_file():
        save_audit(audit(trained, dataset, settings, company, device=device, report=report), place, command)
    return place


def audit_key(run: str, data: str, settings: AuditSettings, beside: Mapping[str, Sequence[str]]) -> str:
    """The audit's name on disk.

    Args:
        run: key of the run that is audited.
        data: fingerprint of the run's data.
        beside: keys of the runs beside it, by their role: retrained, seed, adversary.
    """
    others = [f"{role} {key}" for role, keys in beside.items() for key in keys]
    return audit_key_of(" ".join([run, *others]), data, settings)


def save_audit(found: Audit, folder: Path, command: str = "") -> None:
    """Write the audit's folder, whole or not at all."""
    with written_whole(folder) as part:
        found.rows.write_parquet(part / "rows.parquet")
        found.examples.write_parquet(part / "examples.parquet")
        for name, content in {
            "audit.json": without_nan(found.about),
            "verdict.json": verdict_json(found, command),
        }.items():
            (part / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def verdict_json(found: Audit, command: str = "") -> dict[str, Any]:
    """The verdict as verdict.json holds it; undefined numbers are null."""
    advice = found.advice
    shown = advice and {"ranking": advice.ranking, "sentence": advice.sentence, "fractions": advice.fractions}
    return without_nan(
        {**found.about, "lines": [line_json(line) for line in found.lines], "show_instead": shown, "command": command}
    )


def line_json(line: Line) -> dict[str, Any]:
    """A line as verdict.json holds it; undefined numbers are null."""
    content = {
        "name": line.name,
        "question": line.question,
        "value": line.value.value,
        "low": line.value.low,
        "high": line.value.high,
        "floor": line.floor,
        "best": line.best,
        "best_kind": line.best_kind,
        "score": line.score.value,
        "score_low": line.score.low,
        "score_high": line.score.high,
        "texts": line.value.n,
        "undefined": line.undefined,
        "sentence": line.sentence,
        "beside": line.beside,
    }
    return without_nan(content)


def without_nan(content: Any) -> Any:
    """The same tree with None for each number that is none: what JSON can say."""
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _subject(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    labels: Sequence[str],
    device: str,
    reference: Trained | None = None,
) -> Subject:
    if isinstance(model, Trained):
        if not isinstance(data, Dataset):
            raise SettingError("data must be the Dataset that the run was made for; it was a list of batches.")
        return subject_of(key_of(model.run), model, data, settings, device=device, reference=reference)
    if isinstance(data, Dataset):
        raise SettingError("data must be a list of `Batch` for a model of your own: only you can number its tokens.")
    if not data:
        raise SettingError("data must hold at least one batch; it is empty.")
    classes = 1 + max(int(batch.labels.max()) for batch in data)
    names = labels or [str(number) for number in range(classes)]
    return subject_of_batches(type(model).__name__, model, data, names)


def _advice(
    model: Trained | Model,
    data: Dataset | Sequence[Batch],
    settings: AuditSettings,
    rows: pl.DataFrame,
    device: str,
    reference: Trained | None,
) -> Advice | None:
    """Chosen on dev texts, which only a data set has."""
    if not isinstance(model, Trained) or not isinstance(data, Dataset):
        return None
    if settings.erase_by or (settings.tests and "erase_until_flip" not in settings.tests):
        return None
    changes = {"tests": ("erase_until_flip",), "split": "dev", "shown": 0, "examples": DEV_TEXTS}
    on_dev = settings.model_copy(update=changes)
    dev, _ = audit_rows(subject_of("dev", model, data, on_dev, device=device, reference=reference), on_dev)
    return advise(columns_of([dev]), columns_of([rows]), torch.Generator().manual_seed(settings.seed))


def _attended(subject: Subject, settings: AuditSettings) -> dict[str, Any]:
    """The most and the least attended words, where their scores were asked for and words are what is attended to."""
    asked = not settings.tests or "token_scores" in settings.tests
    reads_sentences = bool(subject.examples and subject.examples[0].sentences)
    if not asked or reads_sentences or not isinstance(subject.model, LinearModel):
        return {}
    model = measurable(subject.model)
    assert isinstance(model, LinearModel)
    return {"words": asdict(attended(model, subject.batches(), subject.counts(), subject.words, subject.labels))}


def _about(subject: Subject, model: Trained | Model, settings: AuditSettings) -> dict[str, Any]:
    run = model.run if isinstance(model, Trained) else None
    return {
        "run": subject.name,
        "model": f"{run.network.encoder}, {run.network.attention} attention" if run else subject.name,
        "data": run.data.source if run else "",
        "split": subject.split,
        "texts": len(subject.texts),
        "labels": list(subject.labels),
        "scores": model.scores.get(subject.split, {}) if isinstance(model, Trained) else {},
        "settings": {"audit": settings.model_dump(mode="json"), "run": run.model_dump(mode="json") if run else None},
        "versions": {"heedful": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
