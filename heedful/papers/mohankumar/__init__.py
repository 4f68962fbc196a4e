"""Mohankumar et al. (2020), Towards Transparent and Explainable Attention Models."""
