"""The example notebooks run from top to bottom, and end by showing something."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def cells(notebook: Path, kind: str) -> list[str]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def run_cell(source: str, names: dict[str, Any], name: str) -> Any:
    """What a notebook would show of a cell: the value of its last expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)


def test_there_are_three():
    assert [notebook.stem for notebook in NOTEBOOKS] == ["own_csv", "own_pytorch_model", "reading_the_rows"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_ends_with_a_result(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [
        run_cell(source, names, f"{notebook.stem} {place}") for place, source in enumerate(cells(notebook, "code"))
    ]
    assert len(shown[-1]._repr_html_()) > 500
    assert all(len(repr(each)) < 10_000 for each in shown)
    assert names["audit"].answer.headline not in ("Too few texts", "Nothing to explain")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_its_output(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4 and content["cells"][0]["cell_type"] == "markdown"
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
    for cell in content["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
