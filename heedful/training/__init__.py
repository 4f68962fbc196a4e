"""One loop, and one file a way to train."""
