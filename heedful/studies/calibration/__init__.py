"""The battery on attention of known quality, in worlds of known truth: which questions tell good attention from bad."""
