"""Pure measures on tensors: divergences, rank agreement, separation of groups (AUROC), intervals."""

from heedful.measures.divergence import entropy, js_divergence, kl_divergence, total_variation_distance
from heedful.measures.interval import (
    Estimate,
    bounded_interval,
    difference_interval,
    mean_interval,
    score_interval,
)
from heedful.measures.ranking import (
    auroc_per_item,
    auroc_values,
    conicity,
    kendall_tau,
    rank_descending,
    ties_within,
    top_k_overlap,
)

__all__ = [
    "Estimate",
    "bounded_interval",
    "difference_interval",
    "conicity",
    "entropy",
    "js_divergence",
    "kendall_tau",
    "kl_divergence",
    "mean_interval",
    "rank_descending",
    "score_interval",
    "auroc_per_item",
    "auroc_values",
    "ties_within",
    "top_k_overlap",
    "total_variation_distance",
]
