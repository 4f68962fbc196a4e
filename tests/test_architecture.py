"""Imports point one way: a row of the design uses only the rows above it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heedful

ROOT = Path(heedful.__file__).parent

ROWS = [
    "errors",
    "types",
    "formatting",
    "settings",
    "schema",
    "measures",
    "exact",
    "data",
    "models",
    "attribution",
    "attacks",
    "token_scores",
    "training",
    "battery",
    "verdict",
    "auditing",
    "runs",
    "report",
    "improving",
    "studies",
    "server",
    "cli",
]

ONLY = {
    "errors": {"collections", "difflib", "typing"},
    "measures": {
        "torch",
        "numpy",
        "jaxtyping",
        "scipy",
        "heedful.types",
        "heedful.settings",
        "heedful.schema",
        "heedful.measures",
    },
    "exact": {"torch", "numpy", "jaxtyping", "heedful.types", "heedful.measures", "heedful.exact", "scipy"},
}
"""Rows that may import nothing else (the standard library aside)."""


def row_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every module that a file names in an import, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.name not in ("__init__.py", "__main__.py")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_the_rows_above(path):
    own = row_of(path)
    assert own in ROWS, f"{own} has no row: place it in ROWS"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "heedful" and len(parts) > 1 and parts[1] in ROWS:
            assert ROWS.index(parts[1]) <= ROWS.index(own), f"{own} must not import {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_imports_nothing_else(path):
    allowed = ONLY.get(row_of(path))
    if allowed is None:
        return
    for name in imports(path):
        top = name.split(".")[0]
        inside = any(name == module or name.startswith(f"{module}.") for module in allowed)
        assert inside or top in sys.stdlib_module_names or name == "heedful", f"{path.name} must not import {name}"


def test_rows_are_files_that_exist():
    there = {row_of(path) for path in FILES}
    assert set(ROWS) == there


@pytest.mark.parametrize(
    "module",
    [
        "heedful.cli",
        "heedful.report",
        "heedful.settings",
        "heedful.schema",
        "heedful.verdict.counting",
        "heedful.server.model_info",
    ],
)
def test_some_modules_load_without_torch(module):
    code = f"import sys, {module}; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_root_holds_only_what_everything_shares():
    modules = {path.name for path in ROOT.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert len(modules) <= 6
    assert len(ROWS) <= 22


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            docstring = node.body[0].end_lineno if ast.get_docstring(node) else None
            start = docstring or node.body[0].lineno - 1
            assert node.end_lineno - start <= 60, f"{node.name} has {node.end_lineno - start} lines"


BANNED = {"one", "found", "said", "told"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_value_is_called_by_a_filler_word(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names |= {getattr(node, field) for field in ("id", "arg", "attr", "name") if hasattr(node, field)}
    assert not names & BANNED


def test_settings_are_changed_only_where_they_are_validated():
    for path in FILES:
        assert "model_copy(" not in path.read_text(encoding="utf-8"), f"{path.name}: use update_settings"
