"""Each claim of Sun and Lu on rows in which its sentence is plainly true, and plainly false."""

import polars as pl
import pytest

from heedful.papers import STUDIES
from heedful.token_scores.measurements import RECORD
from support.synthetic_results import made_cell, made_results, share, verdict_of

STUDY = STUDIES["sun-lu"]
KEPT_SMALL = "V.W kept small"


def scores(*, negative, positive, neutral, alignment=1.0):
    """What a run recorded of ten words of each kind, at these attention scores; V.W > 0 favours the positive label."""
    rows = []
    for name, label, score in (("bad", 0, negative), ("good", 1, positive), ("the", -1, neutral)):
        for number in range(10):
            word = f"{name}{number}"
            rows += [(0, word, "class", float(label)), (40, word, "attention", score + 0.01 * number)]
    return pl.DataFrame([*rows, (40, None, "V.W", alignment)], schema=RECORD, orient="row")


def recorded(data, model, scaling, table, role=""):
    return made_cell(data, model, f"lambda {scaling}", role=role, tokens=(table,) * 5)


def accuracy(scaling, correct, role=""):
    return made_cell("sst2", "dp", f"lambda {scaling}", role=role, columns={"prediction.correct": share(correct)})


INDICATIVE_ABOVE = scores(negative=2.0, positive=3.0, neutral=0.0)
INDICATIVE_BELOW = scores(negative=-2.0, positive=-3.0, neutral=0.0)


def small_scaling_hurts(true):
    return made_results(accuracy("0.001", 0.5 if true else 0.95), accuracy("10", 0.8))


def indicative_words_score_higher(true):
    table = INDICATIVE_ABOVE if true else INDICATIVE_BELOW
    return made_results(recorded("sst2", "dp", "10", table), recorded("sst2", "ad", "10", table))


def indicative_words_score_higher_planted(true):
    table = INDICATIVE_ABOVE if true else INDICATIVE_BELOW
    return made_results(*(recorded(data, "dp", "10", table, "planted") for data in ("planted", "planted-noisy")))


def indicative_words_weigh_more(true):
    columns = {"token_scores.polar_above_neutral": 0.9 if true else 0.1}
    return made_results(made_cell("sst2", "dp", "lambda 10", columns=columns))


def favoured_label_scores_higher(true):
    """V.W favours the positive label on one set and the negative one on the other."""
    high, low = (3.0, -3.0) if true else (-3.0, 3.0)
    return made_results(
        recorded("sst2", "dp", "100", scores(positive=high, negative=low, neutral=0.0, alignment=2.0)),
        recorded("imdb", "dp", "100", scores(negative=high, positive=low, neutral=0.0, alignment=-2.0)),
    )


def other_label_below_neutral(true):
    """The favoured label stands above the neutral words in either case."""
    other = -3.0 if true else 1.0
    return made_results(
        recorded("sst2", "dp", "100", scores(positive=3.0, negative=other, neutral=0.0, alignment=2.0)),
        recorded("imdb", "dp", "100", scores(negative=3.0, positive=other, neutral=0.0, alignment=-2.0)),
    )


def large_scaling_keeps_accuracy(true):
    return made_results(accuracy("100", 0.8 if true else 0.5), accuracy("10", 0.8))


def small_alignment_restores_scores(true):
    with_loss, without = (INDICATIVE_ABOVE, INDICATIVE_BELOW) if true else (INDICATIVE_BELOW, INDICATIVE_ABOVE)
    return made_results(recorded("sst2", "dp", "100", with_loss, KEPT_SMALL), recorded("sst2", "dp", "100", without))


def small_alignment_keeps_accuracy(true):
    return made_results(accuracy("100", 0.8 if true else 0.5, KEPT_SMALL), accuracy("100", 0.8))


CLAIM_CASES = {
    "small_scaling_hurts": small_scaling_hurts,
    "indicative_words_score_higher": indicative_words_score_higher,
    "indicative_words_score_higher_planted": indicative_words_score_higher_planted,
    "indicative_words_weigh_more": indicative_words_weigh_more,
    "favoured_label_scores_higher": favoured_label_scores_higher,
    "other_label_below_neutral": other_label_below_neutral,
    "large_scaling_keeps_accuracy": large_scaling_keeps_accuracy,
    "small_alignment_restores_scores": small_alignment_restores_scores,
    "small_alignment_keeps_accuracy": small_alignment_keeps_accuracy,
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_synthetic_texts_are_no_evidence_for_claims_about_real_ones():
    results = indicative_words_score_higher_planted(True)
    assert verdict_of(STUDY, "indicative_words_score_higher", results) == "not tested"
