"""What `heedful reproduce` prints of a study."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from heedful.cli.reproduce import FIRST_ROWS, print_study
from heedful.papers.reproduction import Entry, Table
from heedful.papers.study_report import MOST_ROWS


@pytest.fixture
def printed(make_report, table):
    """What is printed of a report with a short and a long table."""
    rows = tuple(((f"set {place}",), (Entry(None, 0.5),)) for place in range(MOST_ROWS + 1))
    long = Table("Table 2", "Long", "A long note.", ("data",), ("score",), rows)
    out = io.StringIO()
    report = make_report(tables=lambda results: [table, long])
    print_study(Console(file=out, width=120, highlight=False), report, Path("studies/tiny.md"))
    return out.getvalue()


def test_the_finding_comes_first_and_of_a_long_table_the_first_rows(printed):
    lines = [line.strip() for line in printed.strip().splitlines() if line.strip()]
    assert lines[:2] == [
        "We ran (scale *small*): next to nothing.",
        "What became of it: 1 of 1 quoted claims replicated.",
    ]
    assert lines[2].startswith("replicated on 1 of 1 dataset: It is so. Ours 20.0 (10.0 to 30.0), the paper 40.0")
    assert lines[-1] == "5 trained models; 15 s of one core; with 2 workers about 8 s"
    assert "imdb" in printed
    assert f"set {FIRST_ROWS - 1} " in printed and f"set {FIRST_ROWS} " not in printed
    assert f"{MOST_ROWS + 1 - FIRST_ROWS} more rows: studies/tiny.md" in printed
