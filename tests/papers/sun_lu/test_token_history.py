import polars as pl
import pytest

from heedful.measures.set_effects import effect_of
from heedful.papers.sun_lu.token_history import (
    by_token,
    indicative,
    last_scores,
    mean_weights,
    model_curves,
    neutral,
    of_label,
    own_values,
    relative_size,
    score_frame,
    shares,
    split_shares,
    sunken_shares,
    token_values,
    trajectories,
)
from heedful.token_scores.measurements import RECORD
from support.synthetic_results import made_cell

CLASSES = {"awful": 0, "dull": 0, "great": 1, "the": -1, "of": -1, "film": -2}


def recorded(alignment, attention, classes=CLASSES):
    """A table of two epochs: scores of 0, then the given ones."""
    rows = [(0, word, "class", float(label)) for word, label in classes.items()]
    for epoch, values in ((0, [0.0] * len(classes)), (5, attention)):
        rows += [(epoch, word, "attention", value) for word, value in zip(classes, values, strict=True)]
        rows += [(epoch, word, "polarity", -value) for word, value in zip(classes, values, strict=True)]
        rows.append((epoch, None, "V.W", alignment if epoch else 0.1))
    return pl.DataFrame(rows, schema=RECORD, orient="row")


def cell(*tables):
    return made_cell("sst2", "dp", tokens=tables)


UP = recorded(2.0, [-3.0, -1.0, 4.0, 1.0, -2.0, 9.0])


def test_scores_are_the_last_ones_in_the_texts_beside_the_class_of_each_word():
    table = last_scores(UP)
    assert table["token"].to_list() == list(CLASSES) and table["class"].to_list() == list(CLASSES.values())
    assert table["attention"].to_list() == [-3.0, -1.0, 4.0, 1.0, -2.0, 9.0]
    names = {"negative_aa": -2, "positive_ab": -1, "neutral_abc": 1}
    assert last_scores(recorded(1.0, [1.0, 2.0, 3.0], names))["class"].to_list() == [0, 1, -1]
    mixed = {**names, "film": 1}
    assert by_token(recorded(1.0, [1.0, 2.0, 3.0, 4.0], mixed))["class"][:4].to_list() == [-2, -1, 1, 1]
    local = UP.filter(measure="attention").with_columns(pl.lit("attention_local").alias("measure"), -pl.col("value"))
    assert shares(cell(pl.concat([UP, local])), indicative, neutral).nanmean() == pytest.approx(0.5)


def test_auroc_by_hand_with_delong_s_variance_and_the_favored_label():
    """Label-indicative words at -3, -1, 4 and neutral ones at 1, -2: above 0, .5, 1 and 1/3, 2/3 of the others."""
    by_seed = shares(cell(UP, recorded(2.0, [0.0] * 6)), indicative, neutral)
    assert by_seed.nanmean(1).tolist() == pytest.approx([0.5, 0.5]) and by_seed[:, -1].isnan().all()
    s10, s01 = 0.25, 1 / 18  # variances of 0, .5, 1 and of 1/3, 2/3
    effect = effect_of(by_seed[:1], is_share=True)
    assert effect is not None
    # With the same sums of squares, over m (m + n - 1) / (m + n) instead of m - 1.
    assert effect.of_texts == pytest.approx((5 / 4) * (s10 * 2 / 9 + s01 * 1 / 4))
    assert shares(cell(UP), of_label(1), of_label(0)).nanmean() == 1.0
    down = recorded(-2.0, [3.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    assert split_shares(cell(UP, down)).nanmean(1).tolist() == [1.0, 0.5]
    assert sunken_shares(cell(UP, down)).nanmean(1).tolist() == [0.75, 0.0]
    assert token_values(cell(UP), "polarity", of_label(1)).nansum() == -4.0
    with pytest.raises(KeyError, match="flow_B"):
        token_values(cell(UP), "flow_B", neutral)
    with pytest.raises(KeyError, match="token scores"):
        shares(cell(), indicative, neutral)


def test_frames_and_trajectories_name_the_kinds_of_words():
    frame = score_frame([cell(UP)], {"attention": "global"})
    assert frame.columns == ["data", "series", "x", "y"] and set(frame["data"]) == {"sst2, dp, global"}
    assert frame["series"].to_list() == ["label 0", "label 0", "label 1", "neutral", "neutral"]
    assert (frame["x"].to_list(), frame["y"].to_list()) == ([0, 1, 2, 3, 4], [-3.0, -1.0, 4.0, 1.0, -2.0])
    assert score_frame([cell(UP)], {"attention_local": ""}).is_empty()
    names = {"negative_a": 0, "negative_b": 0, "positive_a": 1, "neutral_a": -1}
    tables = [recorded(1.0, values, names) for values in ([1.0, 2.0, 3.0, 0.0], [1.0, 4.0, 5.0, 0.0])]
    frame = trajectories(cell(*tables), {"attention": "attention score"})
    ends = dict(frame.filter(x=5).select("series", "y").iter_rows())
    assert ends == {"negative": pytest.approx(2.0), "positive": 4.0, "neutral": 0.0}
    curves = model_curves({"planted": cell(*tables)}, {"V.W": "V.W"})
    assert curves.rows() == [("V.W", "planted", 0, pytest.approx(0.1)), ("V.W", "planted", 5, 1.0)]


def test_polarity_speaks_for_the_own_label_or_not():
    """In `recorded` polarity is minus the attention: of awful 3, of dull 1, of great -4."""
    assert own_values(cell(UP), "polarity").tolist() == [[-3.0, -1.0, -4.0]]
    assert own_values(cell(UP), "attention").tolist() == [[-3.0, -1.0, 4.0]]


def test_of_several_labels_the_own_polarity_counts_beyond_the_largest_other_one():
    values = {"a": [0, 3.0, 1.0, 2.0], "b": [1, 3.0, 1.0, 2.0], "c": [2, -1.0, -2.0, 5.0], "the": [-1, 9.0, 9.0, 9.0]}
    rows = [(1, word, "class", float(label)) for word, (label, *_) in values.items()]
    rows += [(1, word, f"polarity[{n}]", own) for word, (_, *owns) in values.items() for n, own in enumerate(owns)]
    table = pl.DataFrame(rows, schema=RECORD, orient="row")
    assert own_values(cell(table), "polarity").tolist() == [[1.0, -2.0, 6.0]]


def test_the_size_of_a_term_is_relative_to_the_three_together():
    rows = [(1, "great", "class", 1.0)]
    rows += [(1, "great", f"flow_{letter}", value) for letter, value in zip("ABC", (-1.0, 2.0, 5.0), strict=True)]
    assert relative_size(cell(pl.DataFrame(rows, schema=RECORD, orient="row")), "A", "ABC").tolist() == [[0.125]]


def test_mean_weights_are_by_word_over_the_texts_however_it_is_written():
    texts = [(0, "Great", 0.5), (0, "the", 0.5), (1, "great", 0.1), (1, "awful", 0.2), (1, "unseen", 0.7)]
    words = pl.DataFrame(
        [(text, item, word, word, "attention", weight) for item, (text, word, weight) in enumerate(texts)],
        schema=["example", "item", "word", "replaced", "measure", "value"],
        orient="row",
    )
    means = mean_weights(words, UP)
    assert means.rows() == [("awful", 0, 0.2), ("great", 1, pytest.approx(0.3)), ("the", -1, 0.5)]
