"""A study's files."""

import re
from dataclasses import replace

from heedful.measures import Estimate
from heedful.papers.reproduction import Entry, Results, Table
from heedful.papers.study_figures import Heading, study_figure
from heedful.papers.study_pages import LONGEST_ALT, markdown_page, page_sections, render_study, write_study
from heedful.papers.study_report import MOST_ROWS
from heedful.report.drawing import statement

FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
LONG = Table(
    "Tables 3 and 10",
    "Long | ones",
    "A long note.",
    ("data",),
    ("score",),
    tuple(((f"set {place}",), (Entry(None, 0.5),)) for place in range(MOST_ROWS + 1)),
)


def figure(name, source, alt="It shows."):
    return study_figure(Heading(name, f"Title of {name}", source), statement("x"), caption="A caption.", alt=alt)


def named(table, name):
    return replace(table, name=name)


def test_the_page_opens_with_what_was_run_and_what_became_of_it(make_report):
    text = markdown_page(make_report(main="Table 1", paper_ran="all of it, once."))
    title, paper, lines, *_ = text.split("\n\n")
    assert title == "# Tiny | study, reproduced" and paper == "Nobody (2000)."
    assert lines.split("\n") == [
        "- **The paper ran:** all of it, once.",
        "- **We ran** (scale *small*): next to nothing.",
        "- **What became of it:** 1 of 1 quoted claims replicated.",
    ]


def test_sections_are_in_the_order_of_the_issue_and_what_is_beyond_the_paper_stands_apart(make_report, table, judged):
    names = ("Table 2", "Sized statements", "Figures 6 to 8", "The outcome", "Table 1")
    origins = [replace(judged, claim=replace(judged.claim, origin=origin)) for origin in ("own", "reading", "quote")]
    report = make_report(
        tables=lambda results: [named(table, name) for name in names],
        figures=lambda results: [figure("redrawn", "Nobody 2000, Figure 2"), figure("ours", "in none of the papers")],
        claims=origins,
        main="Table 2",
        beyond=["Figures 6 to 8"],
        missing={"Figure 9": "no data."},
        remarks=lambda results: ["A remark."],
    )
    sections = page_sections(report)
    assert [section.name for section in sections] == [
        *("paper", "main", "sized", "tables", "claims", "readings", "beyond", "errors", "differences", "ran")
    ]
    titles = {section.name: [block.title for block in section.blocks if block.title] for section in sections}
    assert titles["main"] == ["Table 2: Some numbers"]
    assert titles["tables"] == ["Table 1: Some numbers", "Figure 2: Title of redrawn"]
    assert titles["beyond"] == [
        "Table 2, whole: Some numbers",
        *("Figures 6 to 8: Some numbers", "The outcome: Some numbers", "Title of ours"),
    ]
    text = markdown_page(report)
    assert text.index("**Figure 9** is not here: no data.") < text.index("## Claims in the paper's words")
    assert text.index("A remark.") > text.index("## Beyond the paper")


def test_a_claim_is_a_line_that_unfolds_to_its_sets_with_the_paper_s_number(make_report, judged):
    text = markdown_page(make_report())
    (claim, _) = FOLDED.findall(text)
    line, details, table, _ = claim.split("\n\n")
    assert line == (
        "<details><summary><b>replicated</b> on 1 of 1 dataset: It is so. "
        "Ours 20.0 (10.0 to 30.0), the paper 40.0 (percentage points of accuracy).</summary>"
    )
    assert details.startswith(
        'The paper, section 1: "so it is". Margin: 2.0 (percentage points of accuracy), an accuracy that'
    )
    rows = table.split("\n")[2:]
    assert rows[0] == "| sst2 | 20.0 (10.0 to 30.0) | 40.0 | 0.500 | holds | the paper's number is outside |"
    assert rows[1] == "| imdb | 10.0 (5.0 to 15.0) | – | – | holds; does not count | left out by the paper |"
    untested = replace(judged, sets=(), word="not tested", mean=None, p=float("nan"), decides="another seed")
    text = markdown_page(make_report(claims=(untested, judged)))
    assert text.index("<b>replicated") < text.index("<b>not tested</b>: It is so.</summary>")
    assert "What would decide it: another seed." in text


def test_a_long_table_and_what_was_run_are_folded(make_report, table):
    text = markdown_page(make_report(tables=lambda results: [named(table, "Table 1"), LONG]))
    assert f"A long note.\n\n<details><summary>{MOST_ROWS + 1} rows</summary>" in text
    outside = FOLDED.sub("", text)
    assert "| set 0 |" in text and "| set 0 |" not in outside and "| sst2 | 0.500" in outside
    assert "| sst2 | bilstm | 0, 1, 2, 3, 4 |" in text and "0, 1, 2, 3, 4" not in outside
    main = make_report(tables=lambda results: [LONG], main=LONG.name)
    assert "| set 0 |" in FOLDED.sub("", markdown_page(main))


def test_agreement_stands_under_a_table_and_is_never_folded(make_report):
    ours = Estimate(0.5, 0.4, 0.6, 9)
    rows = tuple(((f"set {place}",), (Entry(replace(ours, value=place / 9), place / 9),)) for place in range(30))
    table = named(replace(LONG, rows=rows), "Table 2")
    for main in ("", "Table 2"):
        report = make_report(tables=lambda results: [table], main=main)
        outside = FOLDED.sub("", markdown_page(report))
        assert "| score | 30 | 1.00 | +0.000 |" in outside and "1.00" in FOLDED.sub("", render_study(report))
    assert "score 1.00 (30 cells)." in markdown_page(report).split("## ")[0]


def test_a_long_description_of_a_figure_ends_with_a_whole_part(make_report):
    long = [f"part {place}" for place in range(100)]
    alts = {"short": "One; two.", "long": "; ".join(long), "listed": "All of it. x: " + ", ".join(long)}
    figures = [figure(name, "", alt) for name, alt in alts.items()]
    text = markdown_page(make_report(figures=lambda results: figures))
    assert "![One; two.](tiny/short.svg)" in text
    (shown,) = re.findall(r"!\[(.*)\]\(tiny/long.svg\)", text)
    assert re.fullmatch(r"part 0; (part \d+; )+and so on\.", shown)
    assert re.search(r"!\[All of it\. x: part 0, (part \d+, )+part \d+; and so on\.\]", text)
    assert len(shown) <= LONGEST_ALT + len("; and so on.")


def test_cells_with_bars_do_not_break_a_table_and_a_page_needs_no_cells(make_report, table):
    barred = replace(table, head=("a | b",))
    page = markdown_page(make_report(Results("small", ()), tables=lambda results: [barred]))
    assert "| a \\| b | score | paper | AUC |" in page and "## What was run" in page


def test_the_html_page_says_the_same_escapes_words_and_folds_the_same(make_report, judged):
    results = Results("small", (), {"abc": "<script>alert(1)</script>"})
    report = make_report(results, tables=lambda results: [LONG], figures=lambda results: [figure("drawn", "")])
    html = render_study(report)
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert html.count("<h2>") == len(page_sections(report))
    assert "<b>Stable is easy.</b>" in html and "**" not in html and "`" not in html
    assert "<b>replicated</b> on 1 of 1 dataset: It is so." in html
    outside = FOLDED.sub("", html)
    assert "<td>set 0</td>" in html and "<td>set 0</td>" not in outside
    assert "<td>sst2</td>" in html and "<td>sst2</td>" not in outside
    assert html.count("<svg ") == len(report.figures) == 1
    assert html.count('aria-label="It shows."') == 1


def test_figures_and_pages_that_a_study_no_longer_has_are_removed(make_report, tmp_path):
    other, own = tmp_path / "other", tmp_path / "tiny"
    for folder in (other, own):
        folder.mkdir()
        for name in ("old.svg", "table_99.md", "notes.txt"):
            (folder / name).write_text("old")
    report = make_report(claims=(), figures=lambda results: [figure("first", ""), figure("second", "")])
    page = write_study(report, tmp_path)
    assert {path.name for path in own.iterdir()} == {"first.svg", "second.svg", "notes.txt"}
    assert {path.name for path in other.iterdir()} == {"old.svg", "table_99.md", "notes.txt"}
    assert page == tmp_path / "tiny.html"
    write_study(replace(report, figures=report.figures[:1]), tmp_path)
    assert {path.name for path in own.glob("*.svg")} == {"first.svg"}
