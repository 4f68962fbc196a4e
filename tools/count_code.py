"""Count code lines, statements and files per folder.

A code line is a line that holds code: blank lines, comments and docstrings (of modules, classes, functions and
attributes) do not count. The budget in tests/test_architecture.py is counted by these functions.

    python tools/count_code.py [FOLDER]
"""

import ast
import io
import sys
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass
class Count:
    """Size of a file or a folder."""

    files: int = 0
    code: int = 0
    statements: int = 0

    def add(self, other: "Count") -> None:
        """Add the size of another file or folder."""
        self.files += other.files
        self.code += other.code
        self.statements += other.statements


def _docstring_lines(tree: ast.AST) -> set[int]:
    """Lines of statements that are nothing but a string."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def count_file(path: Path) -> Count:
    """Size of one Python file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    documentation = _docstring_lines(tree)
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    strings = sum(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for node in ast.walk(tree)
    )
    return Count(1, len(lines - documentation), statements - strings)


def count_folders(root: Path) -> dict[str, Count]:
    """Size of each folder directly below a package; the files in the package itself count as "."."""
    counts: dict[str, Count] = defaultdict(Count)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        counts[parts[0] if len(parts) > 1 else "."].add(count_file(path))
    return dict(counts)


def main() -> None:
    """Print one line per folder, and the sum."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "heedful")
    total = Count()
    for name, count in count_folders(root).items():
        print(f"{name:14} {count.files:4} files {count.code:7,} code lines {count.statements:7,} statements")
        total.add(count)
    print(f"{'all':14} {total.files:4} files {total.code:7,} code lines {total.statements:7,} statements")


if __name__ == "__main__":
    main()
