"""Can you trust attention as an explanation? Train, audit and compare attention models for text.

    data = heedful.load_data("reviews.csv")             a dataset: a name or a file
    run = heedful.load("3f9a")                          a finished run, by its key or folder; a saved audit
    audit = heedful.audit(run, data)                    or your own model and its batches
    heedful.explain(run, "a dull film", audit=audit)    one prediction and its key words

A notebook shows audits and explanations as they are; `audit.answer`, `audit.outcomes` and `audit.rows` have all of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit
    from heedful.errors import HeedfulError
    from heedful.explaining.explanation import Explanation
    from heedful.report.explanations import Explanations, explain
    from heedful.report.loading import audit, load, load_data
    from heedful.settings import AuditSettings, ComparisonModels, DataSettings, Run
    from heedful.training.loop import train
    from heedful.training.trained import Trained
    from heedful.types import Batch, Dataset, Encoded, Example, LinearModel, Model, Trace

__version__ = "0.2.0"

__all__ = [
    "Audit",
    "AuditSettings",
    "Batch",
    "ComparisonModels",
    "DataSettings",
    "Dataset",
    "Encoded",
    "Example",
    "Explanation",
    "Explanations",
    "HeedfulError",
    "LinearModel",
    "Model",
    "Run",
    "Trace",
    "Trained",
    "audit",
    "explain",
    "load",
    "load_data",
    "train",
]

_HOMES = {
    "auditing.audit": ("Audit",),
    "explaining.explanation": ("Explanation",),
    "errors": ("HeedfulError",),
    "report.explanations": ("Explanations", "explain"),
    "report.loading": ("audit", "load", "load_data"),
    "settings": ("AuditSettings", "ComparisonModels", "DataSettings", "Run"),
    "training.trained": ("Trained",),
    "training.loop": ("train",),
    "types": ("Batch", "Dataset", "Encoded", "Example", "LinearModel", "Model", "Trace"),
}

_DRAWN_BY = {
    "report.notebook": ("audit_in_notebook", "audit_page", "explanations_in_notebook", "save_audit_to"),
}
"""How audits and explanations show and keep themselves: by a layer above their own, reached only through here."""


def __getattr__(name: str) -> Any:
    """Names are fetched when first used: `import heedful` loads no torch."""
    for home, names in {**_HOMES, **_DRAWN_BY}.items():
        if name in names:
            return getattr(import_module(f"heedful.{home}"), name)
    raise AttributeError(f"module 'heedful' has no attribute '{name}'")


def __dir__() -> list[str]:
    """The public names, whether they were fetched or not."""
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
