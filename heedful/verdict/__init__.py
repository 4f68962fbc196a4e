"""From rows to a verdict. Nothing is imported here: what reads a finished verdict needs no torch."""
