"""Training: one loop, and one file per training method."""
