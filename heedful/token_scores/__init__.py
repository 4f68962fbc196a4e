"""Tokens as types: which label each speaks for, its polarity and attention scores, and what training does to them."""

from heedful.token_scores.attended import Attended, Word, attended
from heedful.token_scores.classes import NEUTRAL, OTHER, counts_of_batches, token_classes, token_counts
from heedful.token_scores.directions import attention_direction, head_alignment, head_rows
from heedful.token_scores.flow import Flow, Terms, flow, has_flow
from heedful.token_scores.measurements import measurements
from heedful.token_scores.scores import TokenScores, global_scores, item_polarity, local_scores

__all__ = [
    "NEUTRAL",
    "OTHER",
    "Attended",
    "Flow",
    "Terms",
    "TokenScores",
    "Word",
    "attended",
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
