"""Hugging Face classifiers that users name: told apart from finished runs, loaded, audited, audits kept on disk."""

import logging
from collections.abc import Sequence
from pathlib import Path

from heedful.auditing.audit import Report, audit
from heedful.auditing.companions import Companions
from heedful.auditing.request import AuditRequest
from heedful.data import load as load_dataset
from heedful.models.transformers.loading import PREFIX, load_classifier
from heedful.models.transformers.model import TransformerModel
from heedful.runs.audit_folders import audit_problem
from heedful.runs.audits import save_audit, scores_fingerprint
from heedful.runs.other_data import every_text_is_new
from heedful.runs.run_file import read_run_file
from heedful.settings import AuditSettings, DataSettings, TextSettings
from heedful.types import Dataset

log = logging.getLogger(__name__)

CONFIGURATION, RUN_FILE = "config.json", "run.json"


def is_classifier(name: str) -> bool:
    """Whether a name is that of a Hugging Face model: `hf:NAME`, a folder with its configuration, or a path.

    >>> is_classifier("hf:textattack/bert-base-uncased-SST-2"), is_classifier("3f9a01b2")
    (True, False)
    """
    if name.startswith(PREFIX):
        return True
    place = Path(name).expanduser()
    return (place / CONFIGURATION).is_file() or "/" in name or place.is_dir()


def load_view(name: str, site: str = "last", scope: str = "row", device: str = "cpu") -> TransformerModel:
    """The classifier of that name, at a site and in a scope."""
    return TransformerModel(load_classifier(name, device=device), site, scope)


def trained_on(name: str) -> DataSettings | None:
    """The data that a model in a folder of finished runs was fine-tuned on; None where nobody has written that down."""
    place = Path(name).expanduser()
    return read_run_file(place).run.data if (place / RUN_FILE).is_file() else None


def load_texts(data: DataSettings, models: Sequence[str] = ()) -> Dataset:
    """The data for models: of a single file every text is new, unless one of them was fine-tuned on it."""
    known = {own.fingerprint for name in models if (own := trained_on(name)) is not None}
    dataset = load_dataset(data, TextSettings())
    is_new = Path(data.source).is_file() and dataset.fingerprint not in known
    return every_text_is_new(dataset) if is_new else dataset


def request_of_view(
    model: TransformerModel,
    dataset: Dataset,
    settings: AuditSettings,
    others: Sequence[TransformerModel] = (),
    scores: Path | None = None,
) -> AuditRequest:
    """The audit of a classifier beside other checkpoints of it, as it is called on disk.

    Args:
        scores: a file of scores from outside.
    """
    return AuditRequest(
        run=model.key,
        data=dataset.fingerprint,
        settings=settings,
        companions=Companions(seeds=tuple(other.key for other in others)),
        scores="" if scores is None else scores_fingerprint(scores),
    )


def ensure_classifier_audit(
    model: TransformerModel,
    dataset: Dataset,
    settings: AuditSettings,
    folder: str | Path,
    others: Sequence[TransformerModel] = (),
    *,
    report: Report | None = None,
    command: str = "",
    scores: Path | None = None,
) -> Path:
    """The folder of this audit: there already, or made now.

    Args:
        others: checkpoints of the same model from other seeds.
        scores: a file of scores from outside, to be tested beside attention.
    """
    place = Path(folder) / request_of_view(model, dataset, settings, others, scores).key
    if (problem := audit_problem(place)) is not None:
        if place.exists():
            log.warning("%s is not a finished audit and is made again: %s.", place, problem)
        finished = audit(model, dataset, settings, Companions(seeds=tuple(others)), scores=scores, report=report)
        save_audit(finished, place, command)
    return place
