"""Every link of a page leads somewhere, and what a command makes is as the command makes it."""

import doctest
import re
from functools import cache
from pathlib import Path

import claims
import generate
import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LEFT_OUT = ("site", "generated")
PAGES = sorted(
    [path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in LEFT_OUT]
    + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]")
HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


@cache
def generated() -> dict[Path, str]:
    return {DOCS / "generated" / name: text for name, text in generate.generated_pages().items()}


def text_of(path: Path) -> str:
    return generated().get(path) or path.read_text(encoding="utf-8")


def broken_links(page: Path, text: str) -> list[str]:
    """The links that lead to no file of the repository, or to no heading of it; others' addresses are not tried."""
    broken = []
    for link in LINK.findall(CODE.sub("", text)):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if "://" in link or link.startswith("mailto:"):
            continue
        if not (target.exists() or target in generated()) or (anchor and anchor not in anchors(text_of(target))):
            broken.append(link)
    return broken


def anchors(text: str) -> set[str]:
    """What headings are called in links."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(CODE.sub("", text)))
    return {title.strip().replace(" ", "-") for title in titles}


def test_no_link_is_broken():
    problems = {page: broken_links(page, page.read_text(encoding="utf-8")) for page in PAGES}
    problems |= {page: broken_links(page, text) for page, text in generated().items()}
    assert {page.as_posix(): links for page, links in problems.items() if links} == {}


def test_a_broken_link_is_noticed():
    page = DOCS / "start.md"
    assert broken_links(page, "[a](nowhere.md), [b](data.md#nothing), [c](data.md#files)") == [
        "nowhere.md",
        "data.md#nothing",
    ]


def test_every_picture_says_what_it_shows():
    silent = [page.name for page in PAGES if any(not alt for alt in IMAGE.findall(CODE.sub("", text_of(page))))]
    assert silent == []


def test_the_table_of_claims_is_current():
    assert claims.claims_page() == claims.PAGE.read_text(encoding="utf-8"), "run `python docs/claims.py`"


def test_every_page_of_a_paper_is_of_a_study_and_what_is_kept_is_current():
    assert {path.stem for path in (DOCS / "papers").glob("*.md")} - {"index"} <= set(generate.STUDIES)
    kept = generate.kept_pages()
    assert generate.README in kept and "<!-- end -->" in kept[generate.README]
    stale = [page.name for page, text in kept.items() if page.read_text(encoding="utf-8") != text]
    assert stale == [], "run `python docs/generate.py`"


def test_the_debate_has_every_test_that_explains_the_answer():
    linked = set(re.findall(r"generated/tests/(\w+)\.md", text_of(DOCS / "debate.md")))
    assert {name for name, test in generate.all_tests().items() if test.questions} <= linked


def test_what_is_noted_of_tests_is_of_tests_that_there_are():
    tests, notes = generate.all_tests(), generate.read_notes()
    assert set(notes) <= set(tests)
    for name, own in notes.items():
        assert set(own) <= {"formula", "exact", "cost", "questions"}
        assert set(own.get("questions", {})) <= {question.name for question in tests[name].questions}


def test_every_test_and_method_has_a_page_with_an_example():
    pages = generate.generated_pages()
    names = [f"tests/{name}.md" for name in generate.all_tests()] + [f"methods/{name}.md" for name in generate.METHODS]
    assert all("## Example\n" in pages[name] for name in names)
    assert "| `flips_attention` | 1.000 |" in pages["tests/erase_one.md"]  # without "great" the rest says "bad"
    assert "attention alone" in pages["methods/seat.md"] and "all parameters" in pages["methods/seat_all.md"]


@pytest.mark.parametrize("module", [generate, claims], ids=lambda module: module.__name__)
def test_examples_in_the_generator_run(module):
    assert doctest.testmod(module).failed == 0


def test_every_benchmark_is_listed():
    listed = set(re.findall(r"python benchmarks/(\w+)\.py", text_of(DOCS / "benchmarks.md")))
    files = (ROOT / "benchmarks").glob("*.py")
    assert listed == {path.stem for path in files if "__main__" in text_of(path)}  # others are imported by these
