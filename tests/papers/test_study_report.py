"""What a study found: its tables as text, how far they agree with the paper's, and its JSON file."""

import json
import math
from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.papers.published import published
from heedful.papers.reproduction import Entry, Results, Table
from heedful.papers.study_figures import Heading, study_figure
from heedful.papers.study_pages import markdown_page, write_study
from heedful.papers.study_report import (
    UNMEASURED,
    agreement_cells,
    agreement_text,
    as_json,
    estimate_text,
    is_long,
    own_cells,
    read_report,
    table_cells,
)
from heedful.report.drawing import statement
from heedful.settings.validation import update_settings
from support.synthetic_results import known, made_cell, made_results, share


def ours(value):
    return Estimate(value, value - 0.05, value + 0.05, 100)


def table_of(*columns, models=("bilstm",), titles=(), **more):
    """A table with a row for each model and place, and these entries in its columns."""
    count = len(columns[0]) // len(models)
    about = [(f"set {place}", model) for model in models for place in range(count)]
    rows = tuple(zip(about, zip(*columns, strict=True), strict=True))
    titles = titles or tuple(f"column {place}" for place in range(len(columns)))
    return Table("Table 2", "Numbers", "A note.", ("data", "model"), titles, rows, **more)


RISING = [Entry(ours(value / 10), value / 10 + 0.1) for value in range(5)]
FALLING = [Entry(ours(-value / 10), value / 10) for value in range(5)]
THEIRS = [Entry(None, 0.5 - value / 10) for value in range(5)]
UNPRINTED = [Entry(ours(0.5))] * 5


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


def test_columns_agree_one_by_one_and_other_people_s_numbers_are_held_against_the_same_of_the_paper():
    titles = ("tau", "s.d.", "share", "tau, later runs", "unprinted")
    table = table_of(RISING, RISING, FALLING, THEIRS, UNPRINTED, titles=titles)
    assert table_cells(table)[0][2:] == [
        *("tau", "paper", "s.d.", "paper", "share", "paper", "tau, later runs (published)", "unprinted")
    ]
    assert agreement_cells(table) == [
        ["tau", "5", "1.00", "-0.100"],
        ["s.d.", "5", "1.00", "-0.100"],
        ["share", "5", "-1.00", "-0.400"],
        ["tau, later runs", "5", "-1.00", "+0.000"],
    ]
    assert agreement_text(table) == (
        "Rank agreement with Table 2 (Spearman): "
        "tau 1.00 (5 cells), share -1.00 (5 cells), tau, later runs -1.00 (5 cells)."
    )
    few = table_of(RISING[:3], UNPRINTED[:3])
    assert agreement_cells(few) == [] and agreement_text(few) == ""
    undefined = table_of([Entry(ours(math.nan), 0.5), *RISING])
    assert agreement_cells(undefined) == [["column 0", "5", "1.00", "-0.100"]]
    titled_alike = table_of(RISING, FALLING, titles=("tau", "tau"))
    assert [row[2] for row in agreement_cells(titled_alike)] == ["1.00", "-1.00"]


def test_agreement_is_given_within_each_model_and_over_columns_of_one_measure():
    both = table_of(RISING + FALLING, models=("bilstm", "average"))
    cells = agreement_cells(both, by_model=True)
    assert [row[:2] for row in cells] == [["column 0", "10"], ["column 0, bilstm", "5"], ["column 0, average", "5"]]
    assert [row[2] for row in cells[1:]] == ["1.00", "-1.00"]
    alike = table_of(RISING, RISING, alike=True)
    assert agreement_cells(alike)[0] == ["all columns", "10", "1.00", "-0.100"]
    assert agreement_text(alike) == "Rank agreement with Table 2 (Spearman): all columns 1.00 (10 cells)."


def test_the_paper_s_own_cells_are_those_for_which_it_prints_numbers():
    own = own_cells(table_of([*RISING[:4], Entry(ours(0.9))], UNPRINTED))
    assert own.columns == ("column 0",) and [entries for _, entries in own.rows] == [(each,) for each in RISING[:4]]
    assert own_cells(table_of(RISING)) == table_of(RISING)


def test_rows_say_how_much_they_saw_where_they_differ_in_it(make_report):
    rows = tuple(((data, "bilstm"), (Entry(ours(0.5)),)) for data in ("sst2", "imdb"))
    table = Table("Table 1", "", "", ("data", "model"), ("score",), rows)
    cells = [made_cell(data, "bilstm") for data in ("sst2", "imdb")]
    alike = make_report(made_results(*cells), tables=lambda results: [table]).tables[0]
    assert alike == table
    large = update_settings(cells[1].runs[0], {"run.text.max_tokens": 50})
    results = made_results(cells[0], replace(cells[1], runs=(large,)))
    sized = make_report(results, tables=lambda results: [table]).tables[0]
    assert sized.head == ("data", "model", "seeds, texts, words")
    assert sized.rows[1][0] == ("imdb", "bilstm", "1, all, 50")


def test_what_the_paper_prints_and_no_table_reads_is_a_table_of_its_own(make_report):
    table = make_report(folder="sun_lu", tables=lambda results: []).tables[-1]
    assert table.name == UNMEASURED and len(table.rows) == len(published("sun_lu"))
    assert {entries[0].paper for _, entries in table.rows} == set(published("sun_lu")["value"])
    assert make_report().tables[-1].name != UNMEASURED  # of several papers, and with no numbers of one


def test_facts_name_models_that_have_not_learnt_and_shared_runs_are_counted_once(make_report):
    constant = made_cell("sst2", "mlp", columns={"prediction.label": share(0.5), "prediction.correct": share(0.5)})
    made = make_report(made_results(made_cell("sst2", "bilstm"), constant), remarks=lambda results: ["Two models."])
    assert made.facts["Not significantly better than a constant prediction"] == "sst2, mlp"
    assert made.remarks == ("Two models.",)
    cell = made_cell("sst2", "bilstm")
    facts = make_report(made_results(cell, made_cell("sst2", "bilstm", role="other seeds"))).facts
    assert facts["Trained models"] == "5"
    assert facts["Computing time"] == "15 s of one core; with 2 workers about 8 s"


def test_claims_are_drawn_with_the_paper_s_numbers_a_figure_for_each_list_and_unit(make_report, judged):
    def changed(**fields):
        return replace(judged, claim=replace(judged.claim, **fields))

    claims = [changed(origin=origin, unit=unit) for origin in ("quote", "reading") for unit in ("accuracy", "tau")]
    claims += [changed(origin=each.claim.origin, unit=each.claim.unit, statement="So it is.") for each in claims]
    figures = make_report(claims=claims).figures
    assert [figure.source for figure in figures] == ["quote", "quote", "reading", "reading"]
    assert figures[0].alt.endswith(
        "It is so.: sst2 0.2 (paper 0.4), imdb 0.1; So it is.: sst2 0.2 (paper 0.4), imdb 0.1."
    )
    assert make_report(claims=claims[:2]).figures == ()  # two numbers of each unit are read more easily than drawn


def test_a_report_is_read_as_it_was_written(make_report, judged, tmp_path):
    untested = replace(judged, sets=(), word="not tested", p=math.nan, mean=None)
    figure = study_figure(Heading("figure_1", "A", "B, Figure 1"), statement("x"), caption="c", alt="d")
    alone = Table(
        "Table 1", "", "", ("data",), ("score",), ((("sst2",), (Entry(Estimate(0.5, math.nan, math.nan, 1)),)),)
    )
    parts = {"claims": (judged, untested), "figures": lambda results: [figure], "tables": lambda results: [alone]}
    report = make_report(Results("small", made_results(made_cell("sst2", "bilstm")).cells, {"key": "why"}), **parts)
    write_study(report, tmp_path)
    json.dumps(as_json(report), allow_nan=False)
    read = read_report(report.study, tmp_path)
    assert read.claims[0] == judged and math.isnan(read.claims[1].p)
    assert math.isnan(known(read.tables[0].rows[0][1][0].ours).low)
    assert replace(read, claims=(), tables=()) == replace(report, claims=(), tables=())
    assert markdown_page(read) == markdown_page(report)


@pytest.mark.parametrize(
    ("source", "item"),
    [
        ("Nobody 2000, Figure 2", "Figure 2"),
        ("Nobody 2000, supplement, Figure 7", "Supplement, Figure 7"),
        ("in none of the papers", ""),
        ("after Nobody (2000), in our measures", ""),
    ],
)
def test_a_figure_is_called_as_the_paper_calls_it(make_report, source, item):
    figure = study_figure(Heading("name", "A", source), statement("x"), caption="", alt="d")
    assert make_report(claims=(), figures=lambda results: [figure]).figures[0].item == item
