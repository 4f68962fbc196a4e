"""Each claim of Sun and Lu on rows in which its sentence is plainly true, and plainly false."""

import polars as pl

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


def table(true):
    return INDICATIVE_ABOVE if true else INDICATIVE_BELOW


def large_scaling(favoured, other):
    """V.W favours the positive label on one set and the negative one on the other; each has such a score."""
    positive = scores(positive=favoured, negative=other, neutral=0.0, alignment=2.0)
    negative = scores(negative=favoured, positive=other, neutral=0.0, alignment=-2.0)
    return made_results(recorded("sst2", "dp", "100", positive), recorded("imdb", "dp", "100", negative))


CLAIM_CASES = {
    "small_scaling_hurts": lambda true: made_results(accuracy("0.001", 0.5 if true else 0.95), accuracy("10", 0.8)),
    "indicative_words_score_higher": lambda true: made_results(
        *(recorded("sst2", model, "10", table(true)) for model in ("dp", "ad"))
    ),
    "indicative_words_score_higher_planted": lambda true: made_results(
        *(recorded(data, "dp", "10", table(true), "planted") for data in ("planted", "planted-noisy"))
    ),
    "indicative_words_weigh_more": lambda true: made_results(
        made_cell("sst2", "dp", "lambda 10", columns={"token_scores.polar_above_neutral": 0.9 if true else 0.1})
    ),
    "favoured_label_scores_higher": lambda true: large_scaling(*(3.0, -3.0)[:: 1 if true else -1]),
    # The favoured label is above the neutral words in either case.
    "other_label_below_neutral": lambda true: large_scaling(3.0, -3.0 if true else 1.0),
    "large_scaling_keeps_accuracy": lambda true: made_results(
        accuracy("100", 0.8 if true else 0.5), accuracy("10", 0.8)
    ),
    "small_alignment_restores_scores": lambda true: made_results(
        recorded("sst2", "dp", "100", table(true), KEPT_SMALL), recorded("sst2", "dp", "100", table(not true))
    ),
    "small_alignment_keeps_accuracy": lambda true: made_results(
        accuracy("100", 0.8 if true else 0.5, KEPT_SMALL), accuracy("100", 0.8)
    ),
}


def test_synthetic_texts_are_no_evidence_for_claims_about_real_ones():
    results = CLAIM_CASES["indicative_words_score_higher_planted"](True)
    assert verdict_of(STUDY, "indicative_words_score_higher", results) == "not tested"
