"""Scores of token types: the label each indicates, its polarity and attention score, and how training moves them."""

from heedful.token_scores.flow import Flow, Terms, flow, has_flow
from heedful.token_scores.measurements import measurements
from heedful.token_scores.scores import (
    NEUTRAL,
    OTHER,
    AttendedWords,
    TokenScores,
    Word,
    attended_words,
    counts_of_batches,
    global_scores,
    item_polarity,
    local_scores,
    token_classes,
    token_counts,
)
from heedful.token_scores.token_view import attention_direction, head_alignment, head_rows

__all__ = [
    "NEUTRAL",
    "OTHER",
    "AttendedWords",
    "Flow",
    "Terms",
    "TokenScores",
    "Word",
    "attended_words",
    "attention_direction",
    "counts_of_batches",
    "flow",
    "global_scores",
    "has_flow",
    "head_alignment",
    "head_rows",
    "item_polarity",
    "local_scores",
    "measurements",
    "token_classes",
    "token_counts",
]
