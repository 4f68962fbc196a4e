"""A study as Markdown."""

import re
from dataclasses import replace

import pytest

from heedful.report.drawing import statement
from heedful.studies import claims
from heedful.studies.claims import Part
from heedful.studies.figures import Heading, study_figure
from heedful.studies.markdown import LONGEST_ALT, RAN, markdown_pages
from heedful.studies.render import MOST_ROWS
from heedful.studies.study import Entry, Results, Table
from support.synthetic_results import made_cell, near

FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
LONG = Table(
    "Tables 3 and 10",
    "Long | ones",
    "A long note.",
    ("data",),
    ("score",),
    tuple(((f"set {place}",), (Entry(None, 0.5),)) for place in range(MOST_ROWS + 1)),
)


def main_page(report):
    return markdown_pages(report)["tiny.md"]


def test_the_page_opens_with_the_finding(make_report):
    title, finding, paper, *_ = main_page(make_report()).split("\n\n")
    assert title == "# Tiny | study, reproduced"
    assert finding == "**Of 1 claim, 1 is confirmed, 0 not confirmed, 0 contradicted.**"
    assert paper == "Nobody (2000). Made by `heedful reproduce x`."


def test_a_claim_is_its_verdict_a_sentence_and_a_number_with_the_rest_folded(make_report):
    text = main_page(make_report())
    found = text.split("## What we find\n\n")[1].split("\n\n## ")[0]
    assert found.split("\n\n") == [
        "**confirmed**: It is so.<br>0.200 (0.200 to 0.200) nats",
        "<details><summary>What this rests on</summary>",
        'Measured: x - y; confirmed above 0.150, contradicted below 0.050. The paper, section 1: "so it is". '
        "Trained models: 5.",
        "| data set | nats |\n| --- | --- |\n| sst2 | 0.200 (0.200 to 0.200) |",
        "</details>",
    ]


def test_values_of_single_sets_are_folded(make_report, claim):
    tested = claims.test_claim(claim, {"sst2": Part(near(0.3)), "imdb": Part(near(0.5))})
    text = main_page(make_report(claims=lambda results: [tested], tables=lambda results: []))
    for value in ("| sst2 | 0.300", "| imdb | 0.500"):
        assert value in text
        assert value not in FOLDED.sub("", text)


def test_a_long_table_has_a_page_of_its_own_and_a_link_to_it(make_report, table):
    pages = markdown_pages(make_report(tables=lambda results: [table, LONG]))
    own = pages["tiny/tables_3_and_10.md"]
    assert own.startswith("# Tables 3 and 10: Long | ones\n\nA long note.\n\n| data | score | paper |\n")
    assert f"| set {MOST_ROWS} | – | 0.500 |" in own
    assert "(../tiny.md)" in own
    main = pages["tiny.md"]
    assert f"[{MOST_ROWS + 1} rows in a page of their own](tiny/tables_3_and_10.md)" in main
    assert "| set 0 |" not in main and "| sst2 | 0.500" in main


def test_what_was_run_has_a_page_of_its_own(make_report):
    pages = markdown_pages(make_report())
    assert set(pages) == {"tiny.md", f"tiny/{RAN}"}
    assert "| sst2 | bilstm | 0, 1, 2, 3, 4 |" in pages[f"tiny/{RAN}"]
    assert f"(tiny/{RAN})" in pages["tiny.md"]


def test_a_short_table_stays_on_the_page(make_report):
    short = replace(LONG, rows=LONG.rows[:MOST_ROWS])
    pages = markdown_pages(make_report(tables=lambda results: [short]))
    assert "tiny/tables_3_and_10.md" not in pages
    assert f"| set {MOST_ROWS - 1} |" in pages["tiny.md"]


def test_remarks_have_a_heading_where_there_are_any(make_report):
    assert "## What the tables show\n\nTwo models." in main_page(make_report(remarks=lambda results: ["Two models."]))
    assert "## What the tables show" not in main_page(make_report())


def test_a_long_description_of_a_figure_ends_with_a_whole_part(make_report):
    long = [f"part {place}" for place in range(100)]
    alts = {"short": "One; two.", "long": "; ".join(long), "listed": "All of it. x: " + ", ".join(long)}
    figures = [study_figure(Heading(name, "", ""), statement("x"), caption="", alt=alt) for name, alt in alts.items()]
    text = main_page(make_report(figures=lambda results, claims: figures))
    assert "![One; two.](tiny/short.svg)" in text
    (shown,) = re.findall(r"!\[(.*)\]\(tiny/long.svg\)", text)
    assert re.fullmatch(r"part 0; (part \d+; )+and so on\.", shown)
    assert re.search(r"!\[All of it\. x: part 0, (part \d+, )+part \d+; and so on\.\]", text)
    assert len(shown) <= LONGEST_ALT + len("; and so on.")


def test_cells_with_bars_do_not_break_a_table(make_report, table):
    barred = replace(table, head=("a | b",))
    assert "| a \\| b | score | paper | AUC |" in main_page(make_report(tables=lambda results: [barred]))


@pytest.mark.parametrize("cells", [(), (made_cell("sst2", "bilstm"),)])
def test_a_page_can_be_made_of_any_number_of_cells(make_report, cells):
    assert "## What was run" in main_page(make_report(Results("small", cells)))
