"""Should you heed the attention? Train, audit and compare attention models for text."""

__version__ = "0.1.0"
