"""Pure measures on tensors: divergences, rank agreement, separation of groups (AUROC), bootstrap intervals."""

from heedful.measures.divergence import entropy, js_divergence, kl_divergence, total_variation
from heedful.measures.interval import Estimate, bootstrap_interval, paired_ratio_interval, pooled_interval
from heedful.measures.ranking import kendall_tau, kendall_top_k_distance, rank_descending, ties_within, top_k_overlap
from heedful.measures.separation import shares_below

__all__ = [
    "Estimate",
    "bootstrap_interval",
    "entropy",
    "js_divergence",
    "kendall_tau",
    "kendall_top_k_distance",
    "kl_divergence",
    "paired_ratio_interval",
    "pooled_interval",
    "rank_descending",
    "shares_below",
    "ties_within",
    "top_k_overlap",
    "total_variation",
]
