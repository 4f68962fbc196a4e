"""Write the walk of docs/architecture.md: the modules that `heedful audit my.csv` passes, in the order of first visits.

The audit is of a small made-up file, with one seed and the average encoder, in this process. A module counts when one
of its functions is called, not when it is imported.

    python tools/walk.py
"""

import ast
import os
import sys
from inspect import CO_OPTIMIZED
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import heedful

ROOT = Path(heedful.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- walk: made by tools/walk.py -->", "<!-- end of walk -->"
COMMAND = ["audit", "my.csv", "--encoder", "average", "--seeds", "1", "--epochs", "2", "--quiet"]
LABELS = ("bad", "good")


def visited() -> list[str]:
    """Paths of the modules that the command passes, from its first call on."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(ROOT)) or code.co_filename in seen:
            return
        if code.co_flags & CO_OPTIMIZED and code.co_filename.endswith(".py") and not is_imported(frame):
            seen[code.co_filename] = None

    from heedful.cli import app

    sys.setprofile(note)
    try:
        app(COMMAND, standalone_mode=False)
    finally:
        sys.setprofile(None)
    return [Path(file).relative_to(ROOT).as_posix() for file in seen]


def is_imported(frame: FrameType) -> bool:
    """Whether the call happens while a module of the package is imported."""
    caller: FrameType | None = frame
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(str(ROOT)):
            return True
        caller = caller.f_back
    return False


def described(path: str) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def main() -> None:
    """Run the command in a folder of its own, and write the list into the page."""
    home = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        rows = [f"{'nice' if number % 2 else 'dull'} film number {number},{LABELS[number % 2]}" for number in range(80)]
        Path("my.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
        try:
            paths = visited()
        finally:
            os.chdir(home)
    lines = [f"{number}. `heedful/{path}`: {described(path)}" for number, path in enumerate(paths, start=1)]
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]), encoding="utf-8")
    print(f"{PAGE}: {len(paths)} modules")


if __name__ == "__main__":
    main()
