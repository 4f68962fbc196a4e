"""Imports point one way: a row of the design uses only the rows above it."""

import ast
import subprocess
import sys
from functools import cache
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
    "store",
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
    "subjects",
    "auditing",
    "explaining",
    "jobs",
    "report",
    "papers",
    "calibration",
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


FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.name not in ("__init__.py", "__main__.py")
)
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in FILES}


@cache
def nodes(file: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(TEXTS[file])))


def row_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def imports(file: str) -> set[str]:
    """Every module that a file names in an import, also inside functions."""
    found = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def within(name: str, modules) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def test_a_file_imports_only_the_rows_above():
    below = {row: [f"heedful.{each}" for each in ROWS[place + 1 :]] for place, row in enumerate(ROWS)}
    wrong = {(file, name) for file in TEXTS for name in imports(file) if within(name, below[row_of(file)])}
    assert wrong == set()


def test_the_core_imports_nothing_else():
    core = {file: ONLY[row_of(file)] | sys.stdlib_module_names for file in TEXTS if row_of(file) in ONLY}
    wrong = {(file, name) for file in core for name in imports(file) - {"heedful"} if not within(name, core[file])}
    assert wrong == set()


def test_rows_are_files_that_exist():
    there = {row_of(file) for file in TEXTS}
    assert set(ROWS) == there


@pytest.mark.parametrize(
    "module",
    [
        "heedful.cli",
        "heedful.report",
        "heedful.settings",
        "heedful.schema",
        "heedful.verdict.answer_text",
        "heedful.server.contract",
    ],
)
def test_some_modules_load_without_torch(module):
    code = f"import sys, {module}; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_root_holds_only_what_everything_shares():
    modules = {path.name for path in ROOT.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert len(modules) <= 6
    assert len(ROWS) <= 25


def test_files_and_functions_stay_short():
    long = {file: len(text.splitlines()) for file, text in TEXTS.items() if len(text.splitlines()) > 400}
    for file in TEXTS:
        for node in (node for node in nodes(file) if isinstance(node, ast.FunctionDef)):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
            if node.end_lineno - start > 60:
                long[f"{file}: {node.name}"] = node.end_lineno - start
    assert long == {}


BANNED = {"one", "found", "said", "told"}


def test_no_value_is_called_by_a_filler_word():
    fields = ("id", "arg", "attr", "name")
    names = {(file, getattr(node, field, None)) for file in TEXTS for node in nodes(file) for field in fields}
    assert {(file, name) for file, name in names if name in BANNED} == set()


def test_settings_are_changed_only_where_they_are_validated():
    assert [file for file, text in TEXTS.items() if "model_copy(" in text] == [], "use update_settings"
