"""The documentation, built once for all tests, in whichever process comes first."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).parents[2]

MAIN_PAGES = (
    "index.md",
    "start.md",
    "claims.md",
    "idea.md",
    "papers/seat.md",
    "generated/tests/erase_one.md",
    "generated/methods/seat.md",
    "api/exact.md",
    "faq.md",
    "glossary.md",
)
"""Those that are written as HTML: to write them all takes as long again as to read and check them."""

BUILD = """
import sys
from sphinx.cmd.build import main

docs, out, *pages = sys.argv[1:]
places = ["--doctree-dir", out + "/doctrees", docs, out]
strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
failed = main(["--builder", "dummy", *strict, *places])
main(["--builder", "html", "--silent", *places, *pages])
sys.exit(failed)
"""
"""First every page is read and every link resolved; then the main pages are written, without an index to search in."""


@dataclass(frozen=True)
class Site:
    """Where the pages are, and what Sphinx said."""

    folder: Path
    exit_code: int
    warnings: str


def built_site(shared: Path) -> Site:
    """The site in a folder that all test processes share."""
    folder, said = shared / "site", shared / "site.json"
    with FileLock(shared / "site.lock"):
        if not said.exists():
            pages = [str(ROOT / "docs" / page) for page in MAIN_PAGES]
            ran = subprocess.run(
                [sys.executable, "-c", BUILD, str(ROOT / "docs"), str(folder), *pages],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            said.write_text(json.dumps([ran.returncode, ran.stderr]), encoding="utf-8")
    return Site(folder, *json.loads(said.read_text(encoding="utf-8")))
