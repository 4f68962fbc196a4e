"""Where texts come from: one file per source, each with `load`."""
