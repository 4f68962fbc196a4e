"""What is asked for: an audit, by the keys of its models and its settings; and the jobs that make it. No torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from heedful.settings import AuditSettings, ComparisonModels, DataSettings, audit_key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store, audit_defect, part_problem, parts_folder, run_defect


class AuditRequest(BaseModel):
    """An audit, fully determined: all runs by their keys.

    Args:
        data: fingerprint of the data that is audited, the run's own or another.
        scores: fingerprint of the external scores; empty if none are given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    data: str
    settings: AuditSettings = AuditSettings()
    comparison_models: ComparisonModels[str] = ComparisonModels()
    scores: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of the runs that must be there, the audited one first."""
        return tuple(dict.fromkeys((self.run, *self.comparison_models)))

    @property
    def key(self) -> str:
        """The audit's name on disk."""
        others = [f"{role} {key}" for role, keys in self.comparison_models.by_role().items() for key in keys]
        given = [f"scores {self.scores}"] if self.scores else []
        return audit_key_of(" ".join([self.run, *others, *given]), self.data, self.settings)


class AuditSource(BaseModel):
    """Where a worker finds what is audited; runs are sent to it, everything else it reads by itself.

    Args:
        data: the texts, where they are not those of the run itself.
        classifiers: folder or name of each Hugging Face model, by its key.
        site, scope: attention that is shown of these, and where other attention is imposed.
        scores: a file of external scores; empty: none.
        own: FILE.py:FUNCTION of a user's own model; empty: it is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: DataSettings | None = None
    classifiers: dict[str, str] = Field(default_factory=dict)
    site: str = "last"
    scope: str = "row"
    scores: str = ""
    own: str = ""


def absolute(data: DataSettings) -> DataSettings:
    """The data as any process of this machine may call it, in whatever folder it runs."""
    place = Path(data.source)
    return update_settings(data, {"source": str(place.resolve())}) if place.exists() else data


class AuditWork(BaseModel):
    """An audit to be made, or a part of it.

    Args:
        part: name of the part; empty: the whole.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    audit: AuditRequest
    source: AuditSource = AuditSource()
    part: str = ""


Kind = Literal["train", "part", "audit", "join", "pool"]
"""A run; a part of an audit; an audit, also from its parts; the audit of several seeds."""


@dataclass(frozen=True)
class Job:
    """A folder of the store to be made.

    Args:
        key: key of the run or audit; a part adds its name, KEY/NAME.
        settings: what to do, as JSON: a Run, an AuditWork, or the keys of the audits that are pooled.
        needs: keys of the jobs whose folders it reads.
    """

    key: str
    kind: Kind
    settings: str
    needs: tuple[str, ...] = ()

    def place(self, store: Store) -> Path:
        """The folder."""
        if self.kind == "part":
            audit, _, name = self.key.partition("/")
            return parts_folder(store.audits / audit) / name
        return (store.folder if self.kind == "train" else store.audits) / self.key

    def problem(self, store: Store) -> str | None:
        """Why the folder is not the finished one; None if it is."""
        check = {"train": run_defect, "part": part_problem}.get(self.kind, audit_defect)
        return check(self.place(store))
