"""Each claim of Sun and Lu on rows in which its sentence is plainly true, and plainly false."""

from dataclasses import replace
from functools import partial

import polars as pl
import pytest

from heedful.papers import STUDIES
from heedful.papers.sun_lu.claims import mean_weight_above_neutral
from heedful.token_scores.measurements import RECORD
from support.synthetic_results import judged_claims, made_cell, made_results, outcomes_of, share, word_on

STUDY = STUDIES["sun-lu"]
KEPT_SMALL = "V.W kept small"


def scores(*, negative, positive, neutral, alignment=1.0):
    """What a run recorded of twenty words of each kind, at these attention scores; V.W > 0 favors positive."""
    rows = []
    for name, label, score in (("bad", 0, negative), ("good", 1, positive), ("the", -1, neutral)):
        for number in range(20):
            word = f"{name}{number}"
            rows += [(0, word, "class", float(label)), (40, word, "attention", score + 0.01 * number)]
    return pl.DataFrame([*rows, (40, None, "V.W", alignment)], schema=RECORD, orient="row")


def recorded(data, model, scaling, table, role=""):
    return made_cell(data, model, f"lambda {scaling}", role=role, tokens=(table,) * 5)


def accuracy(scaling, correct, role=""):
    return made_cell("sst2", "dp", f"lambda {scaling}", role=role, columns={"prediction.correct": share(correct)})


INDICATIVE_ABOVE = scores(negative=2.0, positive=3.0, neutral=0.0)
INDICATIVE_BELOW = scores(negative=-2.0, positive=-3.0, neutral=0.0)


def table(true):
    return INDICATIVE_ABOVE if true else INDICATIVE_BELOW


def large_scaling(favoured, other):
    """V.W favours the positive label on one set and the negative one on the other; each has such a score."""
    positive = scores(positive=favoured, negative=other, neutral=0.0, alignment=2.0)
    negative = scores(negative=favoured, positive=other, neutral=0.0, alignment=-2.0)
    return made_results(recorded("sst2", "dp", "100", positive), recorded("imdb", "dp", "100", negative))


def polarities(true):
    """Words of either kind have polarity scores of their own sign, or of the other; neutral words small ones."""
    sign = 1.0 if true else -1.0
    rows = [INDICATIVE_ABOVE]
    for name, value in (("bad", -2.0 * sign), ("good", 2.0 * sign), ("the", 0.1 if true else 9.0)):
        words = [(40, f"{name}{number}", "polarity", value) for number in range(20)]
        terms = [(40, f"{name}{number}", f"flow_{each}", value) for number in range(20) for each in "BC"]
        positive = [(40, f"{name}{number}", "flow_E", sign) for number in range(20)]
        rows.append(pl.DataFrame([*words, *terms, *positive], schema=RECORD, orient="row"))
    return made_results(recorded("sst2", "dp", "10", pl.concat(rows)))


def sizes(small, large):
    """Attention and polarity scores at a scaling factor of 10 and at 100."""
    tables = {
        "10": scores(negative=small, positive=small, neutral=0.0),
        "100": scores(negative=large, positive=large, neutral=0.0),
    }
    both = {
        scaling: pl.concat([table, table.with_columns(pl.col("measure").replace("attention", "polarity"))])
        for scaling, table in tables.items()
    }
    return made_results(*(recorded("sst2", "dp", scaling, table) for scaling, table in both.items()))


def higher(true, model="dp", scaling="10", role="", data="sst2"):
    return made_results(recorded(data, model, scaling, table(true), role))


CLAIM_CASES = {
    "small_scaling_hurts": lambda true: made_results(accuracy("0.001", 0.5 if true else 0.95), accuracy("10", 0.8)),
    "huge_scaling_keeps_accuracy": lambda true: made_results(
        accuracy("10000", 0.8 if true else 0.5), accuracy("10", 0.8)
    ),
    "large_scaling_keeps_accuracy": lambda true: made_results(
        accuracy("100", 0.8 if true else 0.5), accuracy("10", 0.8)
    ),
    "positive_words_score_higher": higher,
    "negative_words_score_higher": higher,
    "indicative_words_score_higher_three_labels": partial(higher, data="newsgroups_topics3"),
    "kept_small_negative_above_neutral": partial(higher, scaling="100", role=KEPT_SMALL),
    "polarity_of_positive_words": polarities,
    "polarity_of_negative_words": polarities,
    "neutral_polarity_is_near_zero": polarities,
    "term_B_as_derived": polarities,
    "term_E_as_derived": polarities,
    "scores_shrink_with_scaling": lambda true: sizes(*(9.0, 1.0)[:: 1 if true else -1]),
    "polarity_grows_with_scaling": lambda true: sizes(*(1.0, 9.0)[:: 1 if true else -1]),
    "indicative_words_weigh_more_within_texts": lambda true: made_results(
        made_cell("sst2", "dp", "lambda 10", columns={"token_scores.polar_above_neutral": 0.9 if true else 0.1})
    ),
    "favored_label_scores_higher": lambda true: large_scaling(*(3.0, -3.0)[:: 1 if true else -1]),
    # The favored label is above the neutral words in either case.
    "disfavored_label_below_neutral": lambda true: large_scaling(3.0, -3.0 if true else 1.0),
    "kept_small_does_not_improve_accuracy": lambda true: made_results(
        accuracy("100", 0.8 if true else 0.5, KEPT_SMALL), accuracy("100", 0.8)
    ),
}


def test_synthetic_texts_are_no_evidence_for_claims_about_real_ones():
    results = higher(True, role="planted", data="planted")
    assert word_on(STUDY, "positive_words_score_higher", results) == "not tested"
    assert outcomes_of(STUDY, "positive_words_score_higher_planted", results) == {"planted": "holds"}


def test_the_class_ratio_and_mean_weights_by_hand():
    ends = {"planted": 0.0, "planted-1:2": -1.0, "planted-1:5": -2.0, "planted-2:1": 2.0, "planted-2:5": -1.5}
    tables = {data: scores(negative=0.0, positive=0.0, neutral=0.0, alignment=end) for data, end in ends.items()}
    results = made_results(*(recorded(data, "dp", "10", table, "planted") for data, table in tables.items()))
    (each,) = judged_claims(STUDY, results)["alignment_follows_the_class_ratio"].sets
    assert each.effect.value == pytest.approx(1.0)
    shown = pl.DataFrame(
        {"word": ["bad1", "bad1", "the1", "the2"], "measure": "attention", "value": [0.9, 0.1, 0.4, 0.6]}
    )
    cell = recorded("sst2", "dp", "10", INDICATIVE_ABOVE)
    cell = replace(cell, words=(shown,) * len(cell.tokens))
    assert mean_weight_above_neutral(cell).nanmean() == 0.5
