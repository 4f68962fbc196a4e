"""Where texts come from: one file a source, each with `load`."""
