"""Imports point one way, folders keep to their budgets, and what must be there once is there once."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import count_code
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


WHEN_CALLED = {
    ("store/store.py", "heedful.training.trained"),
    ("store/store.py", "heedful.models.hugging_face.model_files"),
    ("store/run_file.py", "heedful.training.trained"),
    ("jobs/improving.py", "heedful.report.audits"),
}
"""Exceptions: the store loads what it holds by functions of training, and `improve` reads the audits that it pools."""


def test_a_file_imports_only_the_rows_above():
    below = {row: [f"heedful.{each}" for each in ROWS[place + 1 :]] for place, row in enumerate(ROWS)}
    wrong = {(file, name) for file in TEXTS for name in imports(file) if within(name, below[row_of(file)])}
    late = {(file, name) for file, name in wrong if any(file == own and within(name, [m]) for own, m in WHEN_CALLED)}
    assert wrong - late == set()


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


BUDGET = {
    ".": (330, 6),
    "attribution": (1320, 13),
    "auditing": (1180, 9),
    "battery": (2480, 30),
    "calibration": (590, 5),
    "cli": (2380, 17),
    "data": (2990, 22),
    "exact": (1540, 13),
    "explaining": (310, 4),
    "jobs": (1670, 13),
    "measures": (1220, 11),
    "models": (3250, 30),
    "papers": (5090, 38),
    "report": (2160, 20),
    "schema": (340, 3),
    "server": (1350, 14),
    "settings": (370, 3),
    "store": (660, 6),
    "subjects": (1270, 8),
    "token_scores": (510, 5),
    "training": (1550, 22),
    "verdict": (960, 9),
}
"""Code lines and files of each folder of the package, by tools/count_code.py."""
MOST_CODE, MOST_FILES, MOST_TEST_CODE = 33_520, 301, 34_000


def test_folders_keep_to_their_budgets():
    counts = count_code.count_folders(ROOT)
    over = {name: (own.code, own.files) for name, own in counts.items() if beyond(own, BUDGET.get(name, (0, 0)))}
    assert over == {}, "make it smaller, or raise the budget and name the reason in the commit"
    assert sum(code for code, _ in BUDGET.values()) <= MOST_CODE
    assert sum(files for _, files in BUDGET.values()) <= MOST_FILES


def test_the_tests_keep_to_their_budget():
    assert sum(own.code for own in count_code.count_folders(ROOT.parent / "tests").values()) <= MOST_TEST_CODE


def beyond(own: count_code.Count, budget: tuple[int, int]) -> bool:
    return own.code > budget[0] or own.files > budget[1]


def test_functions_stay_short():
    long = {}
    for file in TEXTS:
        for node in (node for node in nodes(file) if isinstance(node, ast.FunctionDef)):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
            if node.end_lineno - start > 60:
                long[f"{file}: {node.name}"] = node.end_lineno - start
    assert long == {}


FILES_OF_A_PAPER = {"study.py", "claims.py", "columns.py", "tables.py", "figures.py", "__init__.py"}


def test_no_two_files_share_a_name():
    names = Counter(name for file in TEXTS if (name := file.rpartition("/")[2]) not in FILES_OF_A_PAPER)
    assert [name for name, count in names.items() if count > 1] == []


def defined(kind: type[ast.AST], name: str) -> list[str]:
    """The files that define a function or class of that name."""
    return [file for file in TEXTS for node in nodes(file) if isinstance(node, kind) and node.name == name]


def test_one_function_each_opens_a_model_makes_an_audit_and_writes_a_file_or_folder():
    assert defined(ast.FunctionDef, "open_subject") == ["subjects/opening.py"]
    assert defined(ast.FunctionDef, "audit_subject") == ["auditing/audit.py"]
    assert defined(ast.FunctionDef, "atomic_file") == defined(ast.FunctionDef, "atomic_folder") == ["store/folders.py"]
    renames = ("os.replace(", "os.rename(", ".rename(folder", "part.replace(", "mkstemp", "NamedTemporaryFile")
    # A download that was resumed is renamed once it is whole.
    writers = ["data/fetch.py", "store/folders.py"]
    assert [file for file, text in TEXTS.items() if any(call in text for call in renames)] == writers


def test_one_class_is_a_heat_map_and_one_dict_has_the_titles_of_rankings():
    assert [file for file in TEXTS for node in nodes(file) if is_heat_map(node)] == ["report/heat_map.py"]
    title = '"attention_x_gradient": "attention'
    assert [file for file, text in TEXTS.items() if title in text.lower()] == ["schema/rankings.py"]


def is_heat_map(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and "heatmap" in node.name.lower()


MODEL_CLASSES = {
    *("Trained", "TransformerModel", "AttentionModel", "LinearAttentionModel", "LinearModel", "PretrainedWords"),
    *("Hierarchical", "Recurrent", "Cnn", "EncodedTexts"),
}


def test_only_models_and_subjects_look_at_classes_of_our_models():
    """All others ask what a model can do: models/abilities.py."""
    looks = {
        (file, name.id)
        for file in TEXTS
        if row_of(file) not in ("models", "subjects")
        for node in nodes(file)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for name in ast.walk(node.args[1])
        if isinstance(name, ast.Name) and name.id in MODEL_CLASSES
    }
    assert looks == set()


BANNED = {"one", "found", "said", "told"}


def test_no_value_is_called_by_a_filler_word():
    fields = ("id", "arg", "attr", "name")
    names = {(file, getattr(node, field, None)) for file in TEXTS for node in nodes(file) for field in fields}
    assert {(file, name) for file, name in names if name in BANNED} == set()


def test_settings_are_changed_only_where_they_are_validated():
    assert [file for file, text in TEXTS.items() if "model_copy(" in text] == [], "use update_settings"
