"""Settings of audits that take a moment."""

from collections.abc import Callable
from pathlib import Path

from heedful.auditing.audit import Audit, prepare_audit
from heedful.jobs.audit_parts import ensure_prepared, request_of
from heedful.schema import Line
from heedful.settings import AuditSettings, ComparisonModels, OptionValue
from heedful.subjects.opening import open_subject
from heedful.training.trained import Trained
from heedful.types import Dataset, Model

OPTIONS: dict[str, dict[str, OptionValue]] = {"permutation": {"count": 5}, "erase_until_flip": {"rankings": 5}}
OPTIONS["word_substitution"] = {"synonyms": "wordnet", "min_similarity": 0.0}

QUICK = AuditSettings(options=OPTIONS, shown=3)


def line_of(finished: Audit, name: str) -> Line:
    return next(line for line in finished.lines if line.name == name)


def ensure_audit(
    model: Trained | Model,
    dataset: Dataset,
    settings: AuditSettings,
    folder: Path,
    comparison_models: ComparisonModels = ComparisonModels(),  # noqa: B008 (frozen)
    report: Callable[[int, int], None] | None = None,
) -> Path:
    """The folder of an audit, made as jobs make it."""
    subject, beside = open_subject(model), comparison_models.map(open_subject)
    request = request_of(subject, dataset, settings, beside)
    return ensure_prepared(request, lambda: prepare_audit(subject, dataset, settings, beside), folder, report=report)
