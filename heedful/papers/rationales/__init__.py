"""Human rationales: Mathew et al. (2021) and DeYoung et al. (2020)."""
