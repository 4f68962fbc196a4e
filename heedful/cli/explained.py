"""What `heedful explain` needs to know of a model: a finished run, or a Hugging Face classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import SettingError

if TYPE_CHECKING:
    from heedful.schema import Verdict
    from heedful.store.store import Store


@dataclass(frozen=True)
class ExplainedModel:
    """A model that texts are explained for.

    Args:
        key: by which its audit is known.
        has_query: whether it reads a query with each text.
        text, query: the columns of the data that it was trained on, where these are known.
        has_words: whether it finds a word in a text.
        reference: the run whose attention it imposes.
    """

    model: Any
    key: str
    has_query: bool
    has_words: Callable[[str], bool]
    text: str | None = None
    query: str | None = None
    reference: Any = None

    def audited_by(self, folder: Path) -> "Verdict | None":
        """What its newest audit says, together with those of its other seeds; None where there is none."""
        from heedful.report.pooled import audited_model

        audit = audited_model(folder, self.key)
        return None if audit is None else audit.verdict


def explained_run(store: "Store", key: str) -> ExplainedModel:
    """A finished run."""
    from heedful.settings import key_of

    trained = store.load(store.find(key))
    run = trained.run
    imposes = run.network.attention == "frozen" and run.reference is not None
    return ExplainedModel(
        model=trained,
        key=key_of(run),
        has_query=trained.model.query_encoder is not None,
        has_words=lambda text: bool(trained.words.split(text)[0]),
        text=run.data.text,
        query=run.data.query,
        reference=store.load(run.reference) if imposes and run.reference else None,
    )


def explained_classifier(name: str, query: str | None, site: str, scope: str, device: str) -> ExplainedModel:
    """A Hugging Face classifier, which reads pairs of texts where it is given a query."""
    from heedful.runs.classifiers import load_view

    model = load_view(name, site, scope, device)
    reader = model.classifier.reader
    return ExplainedModel(
        model=model,
        key=model.key,
        has_query=query is not None,
        has_words=lambda text: bool(reader.read(text).words),
    )


def check_query(model: ExplainedModel, query: str | None, *, has_columns: bool) -> None:
    """Refuse a query that the model does not read, and the lack of one that it does."""
    if not model.has_query and query is not None:
        raise SettingError("--query must be left out: this model reads texts without a question or hypothesis.")
    if model.has_query and query is None and not has_columns:
        raise SettingError("--query must be given: this model reads a question or hypothesis with each text.")
