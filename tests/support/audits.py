"""Settings of audits that take a moment."""

from heedful.auditing.audit import Audit
from heedful.schema import Line
from heedful.settings import AuditSettings, OptionValue

OPTIONS: dict[str, dict[str, OptionValue]] = {"permutation": {"count": 5}, "erase_until_flip": {"rankings": 5}}
OPTIONS["word_substitution"] = {"synonyms": "wordnet", "min_similarity": 0.0}

QUICK = AuditSettings(options=OPTIONS, shown=3)


def line_of(finished: Audit, name: str) -> Line:
    return next(line for line in finished.lines if line.name == name)
