"""Settings that recipes of papers fix: they hold whatever the package's defaults are."""

from typing import Any

NORMAL_START: dict[str, Any] = {"embedding_start": "normal"}
"""Of networks: words without pretrained vectors start at N(0, 1)."""
NEVER_EARLY: dict[str, Any] = {"patience": 0, "min_epochs": 1, "chosen_from": 1}
"""Of training: all epochs, any of which may be chosen."""
