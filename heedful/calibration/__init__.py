"""Calibration: how often the answer is right in worlds whose truth is known."""
