"""Hu et al. (2023), SEAT: Stable and Explainable Attention."""
