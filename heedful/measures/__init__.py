"""Pure measures on tensors: divergences, rank agreement, separation of groups (AUROC), intervals."""

from heedful.measures.divergence import entropy, js_divergence, kl_divergence, total_variation_distance
from heedful.measures.interval import (
    Estimate,
    difference_interval,
    mean_interval,
    pooled_interval,
    pooled_p_value,
    score_interval,
)
from heedful.measures.ranking import (
    auroc_per_item,
    conicity,
    kendall_tau,
    rank_descending,
    ties_within,
    top_k_overlap,
)

__all__ = [
    "Estimate",
    "difference_interval",
    "conicity",
    "entropy",
    "js_divergence",
    "kendall_tau",
    "kl_divergence",
    "mean_interval",
    "pooled_interval",
    "pooled_p_value",
    "rank_descending",
    "score_interval",
    "auroc_per_item",
    "ties_within",
    "top_k_overlap",
    "total_variation_distance",
]
