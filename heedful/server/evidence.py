"""The evidence of a single text: as that of an audit, but that leaving out is not asked under other weights as well."""

from functools import cached_property

from heedful.attribution import leave_one_out
from heedful.battery.evidence import Evidence, Weights


class TextEvidence(Evidence):
    """Evidence whose leave-one-out costs what it must: an audit also asks what other weights would say."""

    @cached_property
    def leave_one_out(self) -> Weights:
        """How far the prediction moves when the item is deleted: total variation distance; 0 where there is no item."""
        return self._moved(leave_one_out(self.model, self.trace).cpu(), self.probabilities)
