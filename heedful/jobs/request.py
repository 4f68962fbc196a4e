"""An audit that is asked for: which run, with which settings, beside which companions; and who does it."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from heedful.settings import AuditSettings, DataSettings, audit_key_of
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import update_settings


class AuditRequest(BaseModel):
    """An audit, fully determined: all runs by their keys.

    Args:
        data: fingerprint of the data that is audited, the run's own or another.
        scores: fingerprint of scores from outside; empty where there are none.
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
        site, scope: of these.
        scores: a file of scores from outside; empty: there are none.
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


MANY_WORDS = 40_000
"""Words of an audit from which on all cores do it, unless somebody says how many: starting them takes seconds."""


@dataclass(frozen=True)
class ClusterChoice:
    """Who does jobs.

    Args:
        workers: how many processes are started here; None: one a core, where there is work enough for them.
        scheduler: address of a running Dask cluster that does it instead.
    """

    workers: int | None = None
    scheduler: str | None = None

    def is_wanted(self, words: int, least: int = MANY_WORDS) -> bool:
        """Whether work on so many words is done by others than this process."""
        if self.scheduler is not None or self.workers is not None:
            return self.scheduler is not None or (self.workers or 0) > 1
        from dask.system import CPU_COUNT

        return CPU_COUNT > 1 and words >= least
