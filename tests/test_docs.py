"""The examples in the documentation run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, capsys):
    for code in examples(page):
        exec(compile(code, str(page), "exec"), {})
        assert capsys.readouterr().out


def test_the_readme_names_every_part_of_the_package():
    tree = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = {path.name for path in (ROOT / "heedful").iterdir() if not path.name.startswith(("_", "py.typed"))}
    missing = [part for part in parts if part not in tree and f"{part}/" not in tree]
    assert missing == []
