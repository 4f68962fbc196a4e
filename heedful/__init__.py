"""Should you heed the attention? Train, audit and compare attention models for text."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit, audit
    from heedful.auditing.companions import Companions
    from heedful.report.explanation import Explanations, explain
    from heedful.settings import AuditSettings, Run
    from heedful.training.loop import train
    from heedful.training.trained import Trained
    from heedful.types import Batch, Dataset, Encoded, Example

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "AuditSettings",
    "Batch",
    "Companions",
    "Dataset",
    "Encoded",
    "Example",
    "Explanations",
    "Run",
    "Trained",
    "audit",
    "explain",
    "train",
]

_HOMES = {
    "auditing.audit": ("Audit", "audit"),
    "auditing.companions": ("Companions",),
    "report.explanation": ("Explanations", "explain"),
    "settings": ("AuditSettings", "Run"),
    "training.trained": ("Trained",),
    "training.loop": ("train",),
    "types": ("Batch", "Dataset", "Encoded", "Example"),
}


def __getattr__(name: str) -> Any:
    """Names are fetched when first used: `import heedful` loads no torch."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"heedful.{home}"), name)
    raise AttributeError(f"module 'heedful' has no attribute '{name}'")
