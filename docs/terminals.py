"""Writes the terminals of the first pages: `python docs/terminals.py` all, `python docs/terminals.py start` one page.

A terminal is a block in the language `console`. Its first line is the command, and the rest is what the command prints.
The commands of a page run in one empty folder, after the page's Python, which writes the file of texts. The key of a
run in a command is replaced by the key that the command before it printed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {"start": ROOT / "docs" / "start.md", "readme": ROOT / "README.md"}
CONSOLE = re.compile(r"(?<=^```console\n)\$ (heedful .*)\n((?:(?!```).*\n)*)(?=```$)", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEY = re.compile(r"\b[0-9a-f]{16}\b")
COLUMNS = "80"


def terminals(page: str) -> list[tuple[str, str]]:
    """The commands of a page's text, and the lines below each."""
    return CONSOLE.findall(page)


def printed(page: str) -> Iterator[tuple[str, str]]:
    """The same, with what the commands print now."""
    key = ""
    with tempfile.TemporaryDirectory() as folder:
        if page.startswith("# Start here"):
            for code in PYTHON.findall(page):
                run([sys.executable, "-c", code], folder)
        for command, _ in terminals(page):
            command = KEY.sub(key, command) if key else command
            text = run([sys.executable, "-m", *shlex.split(command)], folder)
            key = next(iter(KEY.findall(text)), key)
            yield command, text


def run(command: list[str], folder: str) -> str:
    """What a command prints in a folder, on a terminal without colors."""
    environment = {**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def written(page: str) -> str:
    """The page with its terminals as they are printed now."""
    new = iter([f"$ {command}\n{text}" for command, text in printed(page)])
    return CONSOLE.sub(lambda _: next(new), page)


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        place = PAGES[name]
        place.write_text(written(place.read_text(encoding="utf-8")), encoding="utf-8")
        print(place)
