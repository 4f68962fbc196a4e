"""A study's files."""

import json
import math
import re
from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.papers import STUDIES
from heedful.papers.claim_rule import claim_parts
from heedful.papers.reproduction import Entry, Results, Table
from heedful.papers.study_figures import Heading, study_figure
from heedful.papers.study_pages import (
    LONGEST_ALT,
    MOST_ROWS,
    RAN,
    as_json,
    estimate_text,
    is_long,
    markdown_pages,
    render_study,
    summarize,
    table_cells,
    write_study,
)
from heedful.report.drawing import statement
from support.synthetic_results import made_cell, made_results, results_of, share

# A study as Markdown.

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


def test_the_page_opens_with_the_finding_and_folds_what_a_claim_rests_on(make_report):
    title, finding, paper, *_ = main_page(make_report()).split("\n\n")
    assert title == "# Tiny | study, reproduced"
    assert finding == "**Of 1 claim, 1 is confirmed, 0 not confirmed, 0 contradicted.**"
    assert paper == "Nobody (2000). Made by `heedful reproduce x`."
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


def test_a_long_table_and_what_was_run_have_pages_of_their_own(make_report, table):
    pages = markdown_pages(make_report(tables=lambda results: [table, LONG]))
    own = pages["tiny/tables_3_and_10.md"]
    assert own.startswith("# Tables 3 and 10: Long | ones\n\nA long note.\n\n| data | score | paper |\n")
    assert f"| set {MOST_ROWS} | – | 0.500 |" in own
    assert "(../tiny.md)" in own
    main = pages["tiny.md"]
    assert f"[{MOST_ROWS + 1} rows in a page of their own](tiny/tables_3_and_10.md)" in main
    assert "| set 0 |" not in main and "| sst2 | 0.500" in main
    short = replace(LONG, rows=LONG.rows[:MOST_ROWS])
    pages = markdown_pages(make_report(tables=lambda results: [short]))
    assert set(pages) == {"tiny.md", f"tiny/{RAN}"}
    assert "| sst2 | bilstm | 0, 1, 2, 3, 4 |" in pages[f"tiny/{RAN}"]
    assert f"(tiny/{RAN})" in pages["tiny.md"] and f"| set {MOST_ROWS - 1} |" in pages["tiny.md"]


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


def test_cells_with_bars_do_not_break_a_table_and_a_page_needs_no_cells(make_report, table):
    barred = replace(table, head=("a | b",))
    page = main_page(make_report(Results("small", ()), tables=lambda results: [barred]))
    assert "| a \\| b | score | paper | AUC |" in page and "## What was run" in page


# A study's results as text.


def test_tables_and_numbers_as_text(table):
    assert table_cells(table) == (
        ["data", "score", "paper", "AUC"],
        [["sst2", "0.500 (0.450 to 0.550)", "0.470", "–"], ["imdb", "–", "–", "0.500 (0.450 to 0.550)"]],
    )
    assert estimate_text(Estimate(0.25, math.nan, math.nan, 1)) == "0.250"
    assert estimate_text(Estimate(math.nan, math.nan, math.nan, 0)) == estimate_text(None) == "–"
    sizes = {(25, 1): False, (26, 1): True, (12, 5): False, (20, 3): False, (13, 5): True, (0, 9): False}
    for (rows, columns), long in sizes.items():
        content = ((("row",), (Entry(None),) * columns),) * rows
        assert is_long(Table("Table 2", "Long", "", ("data",), ("column",) * columns, content)) == long


def test_verdicts_allow_for_the_number_of_claims_and_json_counts_them(make_report, claim):
    weak = replace(claim, p=0.04, unadjusted="confirmed", verdict="confirmed")
    made = make_report(claims=lambda results: [weak, replace(weak, id="other")])
    assert [claim.verdict for claim in made.claims] == ["not confirmed", "not confirmed"]
    content = json.loads(json.dumps(as_json(make_report(claims=lambda results: [claim])), allow_nan=False))
    assert content["claims"][0]["pooled"]["value"] is None
    assert content["summary"] == {"confirmed": 0, "not confirmed": 0, "contradicted": 0, "not tested": 1}


def test_remarks_name_models_that_have_not_learnt_and_shared_runs_are_counted_once(make_report):
    constant = made_cell("sst2", "mlp", columns={"prediction.label": share(0.5), "prediction.correct": share(0.5)})
    made = make_report(made_results(made_cell("sst2", "bilstm"), constant), remarks=lambda results: ["Two models."])
    assert made.remarks == ["Not surely better than a constant answer: sst2, mlp.", "Two models."]
    cell = made_cell("sst2", "bilstm")
    facts = make_report(made_results(cell, made_cell("sst2", "bilstm", role="other seeds"))).facts
    assert facts["Trained models"] == "5"
    assert facts["Computing time"] == "15 s of one core; with 2 workers about 8 s"


STUDY = STUDIES["attefa"]


@pytest.fixture(scope="module")
def report():
    results = results_of(STUDY)
    return summarize(STUDY, Results("small", results.cells, {"abc": "<script>alert(1)</script>"}), "heedful <x>", 2)


def test_the_page_escapes_words_and_folds_parts_and_long_tables(report):
    html = render_study(report)
    assert "<script>" not in html and "&lt;script&gt;" in html and "heedful &lt;x&gt;" in html
    assert "<b>Mean and best.</b>" in html and "A claim is <em>confirmed</em> if" in html
    for claim in report.claims:
        assert f'<td class="verdict {claim.verdict}">{claim.verdict}</td>' in html
    unfolded = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    parts = [part for claim in report.claims for part in claim_parts(claim)]
    assert parts
    for name, number in parts:
        cells = f'<tr><td>{name}</td><td class="value">{number}</td></tr>'
        assert cells in html and cells not in unfolded
    first = next(table for table in report.tables if not is_long(table))
    rows = first.rows * (MOST_ROWS // len(first.rows) + 1)
    tables = [replace(first, name="Short"), replace(first, name="Long", rows=rows)]
    html = render_study(replace(report, tables=tables))
    short, long = (re.split(f"<h3>{name}: ", html)[1].split("<h3>")[0] for name in ("Short", "Long"))
    assert f"<details><summary>{len(rows)} rows</summary>" in long
    assert "<details>" not in short


def test_figures_and_pages_that_a_study_no_longer_has_are_removed(report, tmp_path):
    other, own = tmp_path / "other", tmp_path / "attefa"
    for folder in (other, own):
        folder.mkdir()
        for name in ("old.svg", "table_99.md", "notes.txt"):
            (folder / name).write_text("old")
    page = write_study(report, tmp_path)
    written = {path.name for path in own.iterdir()}
    assert {"figure_1.svg", "figure_2.svg", RAN, "notes.txt"} <= written
    assert not written & {"old.svg", "table_99.md"}
    assert {path.name for path in other.iterdir()} == {"old.svg", "table_99.md", "notes.txt"}
    assert page == tmp_path / "attefa.html"
    write_study(replace(report, figures=report.figures[:1], ran=[]), tmp_path)
    assert {path.name for path in own.glob("*.svg")} == {"figure_1.svg"}
    assert not (own / RAN).exists()
