"""How many random variants of a text a test can afford."""

from heedful.battery.evidence import Evidence
from heedful.types import MultiHeadModel


def affordable(evidence: Evidence, count: int) -> int:
    """So many random variants of a text, or a tenth of them where the whole of a transformer is run for each."""
    is_whole = isinstance(evidence.model, MultiHeadModel) and not evidence.model.is_cheap
    return max(2, count // 10) if is_whole else count
