"""A study's files."""

import json
import math
import re
from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.papers import STUDIES
from heedful.papers.claim_rule import judge_claim, sets_text
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
    set_cells,
    summarize,
    table_cells,
    write_study,
)
from heedful.report.drawing import statement
from support.synthetic_results import made_cell, made_results, near, results_of, share

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
    assert finding == "**1 of 1 quoted claims replicated.**"
    assert paper == "Nobody (2000). Made by `heedful reproduce x`."
    text = main_page(make_report())
    found = text.split("## Claims in the paper's words\n\n")[1].split("\n\n## ")[0]
    assert found.split("\n\n") == [
        "**replicated**: It is so.<br>on 1 of 1 dataset",
        "<details><summary>Datasets, and the paper's words</summary>",
        'The paper, section 1: "so it is". Effects are in nats; margin 0.100 (a reason).',
        "| dataset | paper | ours (95% interval) | outcome |\n| --- | --- | --- | --- |\n"
        "| sst2 | 0.300 | 0.200 (0.200 to 0.200) | holds |",
        "</details>",
    ]


def test_readings_and_own_findings_are_lists_of_their_own_and_an_open_claim_says_what_would_decide_it(
    make_report, claim
):
    single = {"sst2": near(0.2, seeds=1)}
    reading = judge_claim(replace(claim, origin="reading", scope="the threshold"), single)
    own = judge_claim(replace(claim, origin="own", excepts={"sst2": "a reason"}), single)
    text = main_page(make_report(claims=[own, reading]))
    assert text.index("## Our readings of the paper") < text.index("## Our own findings")
    assert "Ours: the threshold." in text and "What would decide it: sst2: a second seed." in text
    assert "open, does not count (a reason)" in text and "No quoted claims." in text


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
    text = main_page(make_report(figures=lambda results: figures))
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


def test_json_has_the_claims_with_the_hash_of_their_margins(make_report):
    content = json.loads(json.dumps(as_json(make_report()), allow_nan=False))
    (written,) = content["claims"]
    assert written["claim"]["fixed"] == "2026-11-20" and written["word"] == "replicated" and written["mean"] is None
    assert len(written["margins"]) == 12 and written["sets"][0]["paper"] == 0.3


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
    assert "<b>Mean and best.</b>" in html and "A claim is <em>replicated</em> if" in html
    for judged in report.claims:
        assert f'<td class="verdict {judged.word}">{judged.word}</td>' in html and sets_text(judged) in html
    unfolded = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    shown = [set_cells(judged, each) for judged in report.claims for each in judged.sets]
    assert shown
    for _, _, ours, _ in shown:
        assert f'<td class="value">{ours}</td>' in html and f'<td class="value">{ours}</td>' not in unfolded
    first, *_ = report.tables
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
