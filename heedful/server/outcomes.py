"""The outcome of a text, as the live page shows it: the same as in an audit."""

from collections.abc import Mapping

from heedful.auditing.decision import judged_outcomes, ranking_weights
from heedful.auditing.outcomes import BY_WORD
from heedful.schema import TextOutcome
from heedful.server.contract import ShownOutcome
from heedful.server.hierarchy import is_hierarchical
from heedful.server.reading import ReadText
from heedful.settings import AuditSettings
from heedful.verdict.outcome_text import outcome_sentences


def outcomes_of(read: ReadText, settings: AuditSettings) -> Mapping[str, TextOutcome]:
    """Outcomes of the text by ranking; computed once per text."""
    if not read.outcomes:
        read.outcomes.update(judged_outcomes(read.evidence, settings)[0])
    return read.outcomes


def shown_outcome(read: ReadText, settings: AuditSettings) -> ShownOutcome:
    """Attention's outcome: what every view says about it, and its key words."""
    outcome = outcomes_of(read, settings)["attention"]
    return ShownOutcome(
        outcome=outcome.outcome,
        sentences=list(outcome_sentences(outcome, read.labels, "sentence" if is_hierarchical(read) else "word")),
        key_words=list(outcome.key_words),
    )


def weights_by_word(read: ReadText, settings: AuditSettings) -> dict[str, tuple[float, ...]]:
    """Scores of the rankings that single words give; empty if the text has no outcome."""
    outcome = outcomes_of(read, settings)["attention"]
    if outcome.outcome is None:
        return {}
    return {name: ranking_weights(read.evidence, 0, name, outcome, settings) for name in BY_WORD}
