"""Runs and audits on disk, and their workers."""
