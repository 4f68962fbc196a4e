"""The terminals of the first pages are what their commands print: `python docs/terminals.py` writes them."""

import re
from collections.abc import Iterator

import pytest
from terminals import KEY, PAGES, printed, terminals

from heedful.cli.audit_command import demonstration
from heedful.jobs.planning import plan_audits
from heedful.settings import AuditSettings
from heedful.store.store import Store

TEXTS = {name: place.read_text(encoding="utf-8") for name, place in PAGES.items()}
NUMBERS = re.compile(r"\b[0-9a-f]{16}\b|[\d.]+|[█▒·]+")


def same(text: str) -> str:
    """What machines agree on: neither the last digits, nor the bars, nor what follows from them for the example."""
    return " ".join(NUMBERS.sub("0", text.partition("Example, ")[0]).split())


@pytest.mark.parametrize("page", PAGES)
def test_every_terminal_shows_what_its_command_prints(page):
    shown = terminals(TEXTS[page])
    assert [command for command, text in shown if not text or max(map(len, text.splitlines())) > 80] == []
    assert TEXTS[page].count("```console\n") == len(shown) > 0


def test_the_readme_shows_the_demonstration_of_this_version(tmp_path):
    planned = plan_audits(demonstration(0), AuditSettings(), Store(tmp_path / "runs", tmp_path / "audits"), seeds=3)
    [(_, text)] = terminals(TEXTS["readme"])
    assert len(set(KEY.findall(text))) == 2
    assert set(KEY.findall(text)) <= set(planned.runs), "run `python docs/terminals.py readme`"


def masked(pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(same(command), same(text)) for command, text in pairs]


@pytest.mark.slow
def test_the_first_page_shows_what_is_printed_now():
    assert masked(iter(terminals(TEXTS["start"]))) == masked(printed(TEXTS["start"])), "run `python docs/terminals.py`"
