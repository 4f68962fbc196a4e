import tomllib
from collections import Counter
from importlib import resources
from math import log
from statistics import mean, pstdev

import polars as pl
import pytest

from heedful.errors import SettingError
from heedful.papers import STUDIES
from heedful.papers.published import PAPERS, Place, deviation, number, published, read_numbers
from support.synthetic_results import results_of

MEASURES = tomllib.loads((resources.files("heedful.papers") / "measures.toml").read_text(encoding="utf-8"))
KEY = ["item", "data", "model", "measure"]

COUNTS = {
    "vocabulary", "classes", "train_size", "dev_size", "train_dev_size", "test_size", "tokens", "epochs", "models",
    "models_gradient_mostly_faster", "models_gradient_flips_less", "models_product_flips_more",
    "models_none_flips_most",
}  # fmt: skip
LENGTHS = {"average_length", "train_average_length", "test_average_length", "average_sentences"}
UNBOUNDED = {
    "gradient_faster_ratio", "embedding_jsd", "embedding_tvd", "word_jsd", "word_tvd", "comprehensiveness",
    "sufficiency", "sensitivity", "alignment",
}  # fmt: skip
SHARES = set(MEASURES) - COUNTS - LENGTHS - UNBOUNDED
"""F1, flips, significance and AtteFa; also tau, TVD and JSD, which no paper prints below 0 or above 1."""

LATER = "later runs of their code"

ROWS = {
    "jain_wallace": 249,
    "wiegreffe_pinter": 14,
    "serrano_smith": 170,
    "attefa": 819,
    "seat": 2395,
    "sun_lu": 165,
    "rationales": 7,
    "mohankumar": 48,
}


def values(paper, item):
    """From (data, model, measure) to the value."""
    rows = published(paper).filter(item=item)
    return dict(zip(rows.select("data", "model", "measure").iter_rows(), rows["value"], strict=True))


def first_word():
    return pl.col("measure").str.split(" ").list.first()


def test_every_number_has_a_place_a_known_measure_and_is_there_once():
    for paper, count in ROWS.items():
        rows = published(paper).with_columns(kind=first_word())
        assert len(rows) == count and rows.select(KEY).is_duplicated().sum() == 0
        assert rows.select("item", "data", "measure", "value").null_count().row(0) == (0, 0, 0, 0)
        assert rows.filter((pl.col("item") == "") | (pl.col("data") == "")).is_empty()
        assert set(rows["kind"]) <= set(MEASURES)
        printed = rows.filter(pl.col("item") != LATER)
        assert printed.filter(pl.col("kind").is_in(SHARES)).select(pl.col("value").is_between(0, 1).all()).item()
        counts = rows.filter(pl.col("kind").is_in(COUNTS))["value"]
        assert (counts == counts.round()).all() and (counts > 0).all()
        assert (rows["spread"].drop_nulls() >= 0).all()


def test_what_mohankumar_et_al_print_and_what_their_code_gave_later():
    lower = {item: values("mohankumar", item) for item in ("Table 2", "later runs")}
    assert lower["Table 2"]["snli", "orthogonal", "accuracy"] == 0.7646
    for rows in lower.values():
        for data, model, _ in (key for key in rows if key[1] != "vanilla"):
            assert rows[data, model, "conicity"] < rows[data, "vanilla", "conicity"]


def test_there_is_a_file_for_each_paper_and_an_unknown_one_is_named():
    assert set(ROWS) == set(PAPERS)
    folders = [folder for folder in resources.files("heedful.papers").iterdir() if folder.is_dir()]
    assert {folder.name for folder in folders if (folder / "published.csv").is_file()} == set(PAPERS)
    with pytest.raises(SettingError, match=r"unknown paper 'seet'\. Did you mean 'seat'\? Known: jain_wallace, "):
        published("seet")


def test_well_known_numbers_and_what_is_not_printed():
    assert number("jain_wallace", item="Table 2", data="sst2", model="cnn dot", measure="tau_gradient class 0") is None
    assert number("jain_wallace", item="Table 1", data="sst2", measure="vocabulary") == 16175
    assert number("jain_wallace", item="Table 1", data="sst2", measure="f1") is None
    for (paper, item, data, model, measure), value in NUMBERS.items():
        assert number(paper, item=item, data=data, model=model, measure=measure) == value


def test_later_runs_of_jain_and_wallace_say_which_file_they_are_from():
    later = published("jain_wallace").filter(item=LATER)
    assert len(later) == 42 and later["note"].str.starts_with("successar/AttentionExplanation 425a89a, graph").all()
    table = published("jain_wallace").filter(item="Table 2").select(*KEY[1:], "value")
    both = later.join(table, on=KEY[1:])
    distance = both.select("measure", away=(pl.col("value") - pl.col("value_right")).abs())
    by_kind = distance.group_by(kind=first_word()).agg(pl.col("away").mean().round(2))
    assert dict(by_kind.iter_rows()) == {"tau_gradient": 0.07, "tau_leave_one_out": 0.08}
    assert (
        deviation("jain_wallace", item=LATER, data="sst2", model="average additive", measure="tau_gradient class 1")
        == 0.21
    )


NUMBERS = {
    ("jain_wallace", "Table 1", "sst2", "bilstm additive", "f1"): 0.81,
    ("jain_wallace", "Table 1", "babi_task3", "bilstm additive", "accuracy"): 0.62,
    ("jain_wallace", "Table 2", "sst2", "bilstm additive", "tau_gradient class 1"): 0.38,
    ("jain_wallace", "Table 2", "newsgroups_sports", "bilstm additive", "significant_gradient class 1"): 0.48,
    ("jain_wallace", "Table 2", "cnn", "bilstm additive", "tau_gradient"): 0.20,
    ("jain_wallace", "Table 2", "snli", "bilstm additive", "significant_leave_one_out class 2"): 0.61,
    ("wiegreffe_pinter", "Table 2 of Amini and Kosseim", "diabetes", "bilstm", "f1"): 0.775,
    ("serrano_smith", "Table 1", "imdb_ratings", "", "train_dev_size"): 122121,
    ("serrano_smith", "Table 2", "yahoo", "hierarchical rnn", "only_top_flips_attention"): 0.087,
    ("serrano_smith", "Table 2", "imdb_ratings", "hierarchical rnn", "both_flip_attention"): 0.022,
    ("serrano_smith", "Table 3", "yahoo", "flat rnn", "accuracy"): 0.755,
    ("serrano_smith", "Figure 13", "yelp", "hierarchical none", "only_top_flips_attention_x_gradient"): 0.278,
    ("serrano_smith", "Figure 6", "amazon", "flat none", "fraction_above_half_random"): 0.124,
    ("serrano_smith", "section 5.4", "all", "with encoder", "gradient_faster_ratio"): 1.6,
    ("attefa", "Table 2", "newsgroups_sports", "mlp", "f1"): 0.878,
    ("attefa", "Table 3", "mock-1", "mlp", "attefa"): 0.8153,
    ("attefa", "Table 3", "mock-1", "mlp", "adversary_f1"): 0.221,
    ("attefa", "Table 4", "mock-1", "mlp", "attefa seed=12504"): 0.879,
    ("attefa", "Table 5", "anemia", "mlp", "attefa seed=12504"): 0.206,
    ("seat", "Table 1", "sst2", "rnn vanilla", "embedding_tvd radius=0.001"): 19.566,
    ("seat", "Table 1", "sst2", "rnn seat", "embedding_jsd radius=0.001"): 2.75e-7,
    ("seat", "Table 1", "sst2", "bert vanilla", "f1 radius=0.001"): 0.912,
    ("seat", "Table 2", "tweeteval_hate", "rnn seat", "comprehensiveness"): 6.558,
    ("seat", "Table 6", "sst2", "rnn seat without stability", "embedding_tvd radius=0.01"): 2.997,
    ("seat", "Table 8", "rotten_tomatoes", "rnn seat", "embedding_jsd radius=0.005"): -2.87e-10,
    ("sun_lu", "Table 1", "newsgroups_topics3", "", "train_size class 2"): 716,
    ("sun_lu", "Table 2", "sst2", "dp", "accuracy lambda=10"): 0.822,
    ("sun_lu", "Table 2", "sst2", "ad", "accuracy lambda=0.001"): 0.628,
    ("sun_lu", "Table 2", "imdb", "dp", "accuracy lambda=50"): 0.898,
    ("sun_lu", "supplement", "newsgroups_topics3", "", "tokens neutral"): 164,
}


def test_the_four_cells_of_a_flip_table_make_up_all_texts():
    for item, ranking, models in (("Table 2", "attention", 1), ("Figure 13", "attention_x_gradient", 6)):
        flips = published("serrano_smith").filter(item=item)
        assert flips["measure"].str.ends_with(ranking).all()
        sums = flips.group_by("data", "model").agg(pl.col("value").sum(), pl.len())
        assert len(sums) == 4 * models and (sums["len"] == 4).all()
        assert sums.select(pl.col("value").is_between(0.998 - 1e-9, 1.002 + 1e-9).all()).item()  # four times .0005


def ratio_bounds(tvd, jsd):
    """The least and the largest 2 tvd ln 2 / jsd that round to these, of three decimals, at most 1."""
    return tuple(min(2 * (tvd + sign * 0.0005) * log(2) / (jsd - sign * 0.0005), 1.0) for sign in (-1, 1))


def test_attefa_is_the_ratio_of_its_parts():
    for item, count, rounding in (("Table 3", 28, 5e-5), ("Table 4", 72, 5e-4), ("Table 5", 27, 5e-4)):
        cells, checked = values("attefa", item), 0
        for (data, model, measure), value in cells.items():
            parts = [cells.get((data, model, measure.replace("attefa", part))) for part in ("tvd", "jsd")]
            if measure.startswith("attefa") and None not in parts:
                low, high = ratio_bounds(*parts)
                assert low - rounding <= value <= high + rounding, (data, model, measure)
                checked += 1
        assert checked == count


def test_the_seeds_of_amini_and_kosseim_have_the_mean_and_deviation_of_table_3():
    table_3 = published("attefa").filter(item="Table 3").select("data", "model", "measure", "value", "spread")
    summary = {row[:3]: row[3:] for row in table_3.iter_rows()}
    seeds = published("attefa").filter(pl.col("item").is_in(["Table 4", "Table 5"])).with_columns(kind=first_word())
    for (_, *place), rows in seeds.group_by("item", "data", "model", "kind"):
        printed_mean, printed_spread = summary[tuple(place)]
        # Both are rounded: epochs to whole numbers, a seed to three decimals, the summary to three (AtteFa: four).
        tolerance = {"epochs": 0.5, "attefa": 0.00055}.get(place[-1], 0.001) + 1e-9
        assert len(rows) == 9
        assert abs(mean(rows["value"]) - printed_mean) <= tolerance, place
        assert abs(pstdev(rows["value"]) - printed_spread) <= tolerance, place


NOT_READ_YET = {
    ("attefa", "Table 1"): 72,
    ("attefa", "Table 4"): 351,
    ("attefa", "Table 5"): 126,
    ("jain_wallace", "Table 1"): 47,
    ("jain_wallace", "Figure 3"): 1,
    ("jain_wallace", "Figure 4"): 1,
    ("jain_wallace", "Figure 5"): 1,
    ("seat", "Table 1"): 84,
    ("seat", "Table 2"): 84,
    ("seat", "Table 3"): 84,
    ("seat", "Table 4"): 33,
    ("seat", "Table 5"): 20,
    ("seat", "Table 6"): 12,
    ("seat", "Table 7"): 20,
    ("seat", "Table 8"): 252,
    ("seat", "Table 9"): 756,
    ("seat", "Table 10"): 168,
    ("serrano_smith", "Table 1"): 5,
    ("serrano_smith", "Figure 6"): 4,
    ("serrano_smith", "section 5.4"): 3,
    ("serrano_smith", "section A.3"): 3,
    ("sun_lu", "Table 1"): 35,
}
"""Numbers about our data that no table shows next to ours, only the page's last table: they should become fewer."""


def test_every_number_is_on_the_page_and_those_about_data_that_is_run_are_read_by_its_tables():
    """Others are shown as numbers of the paper alone; of an item that is missing, the page gives the reason."""
    unread = Counter()
    for study in STUDIES.values():
        if study.folder not in PAPERS:
            continue
        results = results_of(study, "paper")
        with read_numbers() as shown:
            study.tables(results)
            study.figures(results)
        ours = {*results.datasets, "all"}
        left = {Place(*row) for row in published(study.folder).select(*Place._fields).iter_rows()} - shown
        own = [place for place in left if place.data in ours and place.item not in study.missing]
        unread.update((study.folder, place.item) for place in own)
    beyond = {
        key: (count, NOT_READ_YET.get(key, 0)) for key, count in unread.items() if count > NOT_READ_YET.get(key, 0)
    }
    assert beyond == {}


def test_what_is_asked_for_is_noted_while_a_block_lasts():
    place = Place("Table 1", "sst2", "", "vocabulary")
    with read_numbers() as shown:
        number("jain_wallace", item="Table 1", data="sst2", measure="vocabulary")
    number("jain_wallace", item="Table 1", data="imdb", measure="vocabulary")
    assert shown == {place}
