"""Waiting for what is waited for, however busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

Thing = TypeVar("Thing")
PATIENCE = 300.0
"""Seconds after which nothing more is expected; far more than even a busy machine takes."""


def wait_until(condition: Callable[[], Thing], what: str, patience: float = PATIENCE) -> Thing:
    """What the condition returns once that is true; a failure that names what never came."""
    deadline = time.monotonic() + patience
    while True:
        if result := condition():
            return result
        assert time.monotonic() < deadline, f"{what}: not within {patience:.0f} seconds"
        time.sleep(0.02)
