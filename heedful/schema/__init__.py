"""What an audit's files hold, stated once: the columns of rows and examples, and the verdict.

Whatever writes or reads these files does it by this package. It imports no torch.
"""

from heedful.schema.answers import (
    Answer,
    AuditAnswer,
    ClassAnswer,
    RankingShare,
    Recommendation,
    Removal,
    SeedShare,
    Shares,
    ShownText,
    TextOutcome,
)
from heedful.schema.facts import Heads, Interval, Substitution, Training, Word, Words
from heedful.schema.lines import Line, Ranking, SeedScore
from heedful.schema.part import GROUPS, Group, Number, Outcome, Reason, updated
from heedful.schema.tables import EXAMPLES, NULLABLE, OPTIONAL, OUTCOMES, ROWS, UNCOUNTED
from heedful.schema.verdict import Verdict

__all__ = [
    "Answer",
    "AuditAnswer",
    "ClassAnswer",
    "EXAMPLES",
    "GROUPS",
    "Group",
    "Heads",
    "Interval",
    "Line",
    "NULLABLE",
    "Number",
    "OPTIONAL",
    "OUTCOMES",
    "Outcome",
    "ROWS",
    "Ranking",
    "RankingShare",
    "Reason",
    "Recommendation",
    "Removal",
    "SeedScore",
    "SeedShare",
    "Shares",
    "ShownText",
    "Substitution",
    "TextOutcome",
    "Training",
    "UNCOUNTED",
    "Verdict",
    "Word",
    "Words",
    "updated",
]
