"""Versions that are part of keys: what was made by an older one is made anew."""

TRAINING_VERSION = 2
"""Bumped when the same settings give other weights on purpose; part of every run's key."""

AUDIT_VERSION = 10
"""Bumped when the same model and audit settings give other rows on purpose; part of every audit's key."""
BATTERY_VERSION = 1
"""Bumped when the whole battery asks more than before, and no test answers otherwise; for audits that name no tests."""
