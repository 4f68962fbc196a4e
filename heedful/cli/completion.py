"""What the shell offers to complete: names that can be chosen, and keys of finished runs.

Called at every press of the tabulator: what goes wrong offers nothing, and says nothing.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import typer

Offer = list[tuple[str, str]]
"""Names, each with what it is."""


def names(kind: str) -> Callable[[str], Offer]:
    """Offers what `heedful list KIND` lists; after a comma, the next name."""

    def offer(incomplete: str) -> Offer:
        from heedful.cli.listing import names_of

        before, comma, last = incomplete.rpartition(",")
        return [(f"{before}{comma}{name}", what) for name, what in _beginning(last, lambda: names_of(kind).items())]

    return offer


def runs(ctx: typer.Context, incomplete: str) -> Offer:
    """Offers the keys of the finished runs in the folder that `--runs` names."""
    return _beginning(incomplete, lambda: _keys(Path(ctx.params.get("runs") or "runs")))


def _keys(folder: Path) -> Iterable[tuple[str, str]]:
    return ((place.parent.name, "") for place in sorted(folder.glob("*/run.json")))


def _beginning(incomplete: str, offered: Callable[[], Iterable[tuple[str, str]]]) -> Offer:
    with suppress(Exception):
        return [(name, what) for name, what in offered() if name.startswith(incomplete)]
    return []
