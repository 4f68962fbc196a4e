"""An audit that is asked for: which run, with which settings, beside which companions."""

from pydantic import BaseModel, ConfigDict

from heedful.auditing.companions import Companions
from heedful.settings import AuditSettings, audit_key_of


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
    companions: Companions[str] = Companions()
    scores: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of the runs that must be there, the audited one first."""
        return tuple(dict.fromkeys((self.run, *self.companions)))

    @property
    def key(self) -> str:
        """The audit's name on disk."""
        others = [f"{role} {key}" for role, keys in self.companions.by_role().items() for key in keys]
        given = [f"scores {self.scores}"] if self.scores else []
        return audit_key_of(" ".join([self.run, *others, *given]), self.data, self.settings)
