"""Training after which attention may be heeded: ways to train, compared."""
