"""Folders named by a hash, which exist if and only if they are complete: finished runs and audits."""
