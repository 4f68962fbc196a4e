"""What an audit's files hold, stated once: the columns of rows and examples, and the verdict.

Whatever writes or reads these files does it by this package. It imports no torch.
"""

from heedful.schema.answers import Answer, ClassAnswer, Removal, SeedShare, Shares
from heedful.schema.facts import Headline, Heads, Interval, Substitution, Training, Word, Words
from heedful.schema.lines import Advice, Line, Ranking, SeedScore
from heedful.schema.part import GROUPS, Group, LineStatus, Number, Outcome, Reason, updated
from heedful.schema.tables import EXAMPLES, NULLABLE, OPTIONAL, ROWS
from heedful.schema.verdict import Verdict

__all__ = [
    "Shares",
    "SeedShare",
    "Removal",
    "ClassAnswer",
    "Answer",
    "Advice",
    "EXAMPLES",
    "GROUPS",
    "Group",
    "Headline",
    "Heads",
    "Interval",
    "Line",
    "LineStatus",
    "NULLABLE",
    "Number",
    "OPTIONAL",
    "Outcome",
    "ROWS",
    "Ranking",
    "Reason",
    "SeedScore",
    "Substitution",
    "Training",
    "Verdict",
    "Word",
    "Words",
    "updated",
]
