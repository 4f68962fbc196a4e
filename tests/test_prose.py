"""Prose for users and readers of the code has none of the phrases that tools/phrases.toml replaces."""

import prose
import pytest

CLEAN = ("docs/", "README.md", "CONTRIBUTING.md", "SECURITY.md", "heedful/errors.py")
"""Files and folders without any phrase to replace; ("",) is all of them."""
NOT_YET = ("docs/architecture.md", "docs/claims.py", "docs/generate.py", "docs/papers/")
"""What of these is not clean yet: made from docstrings of the package, or about the papers."""


def clean_files() -> list[str]:
    return [name for name in prose.files() if name.startswith(CLEAN) and not name.startswith(NOT_YET)]


def hits_of(phrase: prose.Phrase) -> list[tuple[str, str]]:
    """Hits in clean files if the phrase must not occur; in all files if some uses are correct."""
    return prose.hits(phrase, prose.files() if phrase.most else clean_files())


@pytest.mark.parametrize("phrase", prose.phrases(), ids=lambda phrase: str(phrase.number))
def test_no_phrase_occurs_too_often(phrase):
    hits = hits_of(phrase)
    shown = "\n".join(f"{name}: {text}" for name, text in hits)
    assert len(hits) <= phrase.most, f"write instead: {phrase.write}\n{shown}"


def test_the_pages_that_users_read_first_are_checked():
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/start.md", "docs/answer.md"} <= set(clean_files())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "The network\nsays yes, beside\nothers."),
        ("code.py", '"""The network\n\n    says.\n"""\nx = f"beside {1}"\n# The network\n# says no.\n'),
        ("page.html", "<p>the network <b>says</b></p><p>beside</p>"),
        ("page.js", '// the network\n// says\nlet a = "beside that";\n'),
    ],
)
def test_phrases_are_found_across_lines_and_marks(name, text, tmp_path, monkeypatch):
    (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    assert {phrase.number for phrase in PHRASES if prose.hits(phrase, [name])} == {2, 29}


def test_code_quotations_and_names_are_no_prose(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("`beside`\n\n```\nbeside\n```\n", encoding="utf-8")
    (tmp_path / "code.py").write_text('x = f(quote="beside it")\nbeside = "#beside"\n', encoding="utf-8")
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    assert [hit for phrase in PHRASES for hit in prose.hits(phrase, ["page.md", "code.py"])] == []


PHRASES = prose.phrases()
"""Read before a test points the module to a folder of its own."""
