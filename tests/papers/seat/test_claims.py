"""Each claim of Hu et al. on rows in which its sentence is plainly true, and plainly false."""

from functools import partial

import pytest

from heedful.papers import STUDIES
from support.synthetic_results import made_cell, made_results, share, verdict_of

STUDY = STUDIES["seat"]


def measured(method, **columns):
    """A BiLSTM trained by that method; `a__b` is the column a.b."""
    return made_cell("sst2", "bilstm", method, columns={name.replace("__", "."): v for name, v in columns.items()})


def predicts_as_well(true):
    return made_results(
        measured("vanilla", prediction__correct=share(0.9)),
        measured("seat", prediction__correct=share(0.9 if true else 0.6)),
    )


def keeps_top_words(method, true):
    return made_results(measured(method, seeds__overlap=0.95 if true else 0.2))


def lower_than_vanilla(column, method, true):
    """The measure, of which less is better, is lower for the method than for vanilla; or higher."""
    vanilla, other = (0.4, 0.1) if true else (0.1, 0.4)
    return made_results(measured("vanilla", **{column: vanilla}), measured(method, **{column: other}))


def steadier_by_magnitudes(method, true):
    """Vanilla's divergence is a thousand times as large, or hardly larger."""
    other = 0.00001 if true else 0.009
    made = {"vanilla": 0.01, method: other}
    return made_results(*(measured(name, embedding_attack__js_answer=share(1.0) * js) for name, js in made.items()))


def selective(method, true):
    """Of ten words the top one has half of all attention, or hardly more than a tenth."""
    return made_results(measured(method, prediction__max_attention=0.5 if true else 0.11, prediction__items=10.0))


def more_necessary_words(true):
    column = "comprehensiveness_sufficiency__comprehensiveness_attention"
    vanilla, seat = (0.1, 0.4) if true else (0.4, 0.1)
    return made_results(measured("vanilla", **{column: vanilla}), measured("seat", **{column: seat}))


CLAIM_CASES = {
    "predicts_as_well": predicts_as_well,
    "keeps_top_words_seat": partial(keeps_top_words, "seat"),
    "keeps_top_words_seat_code": partial(keeps_top_words, "seat_code"),
    "steadier_seat": partial(lower_than_vanilla, "embedding_attack__js_answer", "seat"),
    "steadier_seat_all": partial(lower_than_vanilla, "embedding_attack__js_answer", "seat_all"),
    "steadier_by_magnitudes_seat": partial(steadier_by_magnitudes, "seat"),
    "steadier_by_magnitudes_seat_code": partial(steadier_by_magnitudes, "seat_code"),
    "selective_seat": partial(selective, "seat"),
    "selective_seat_code": partial(selective, "seat_code"),
    "steadier_predictions": partial(lower_than_vanilla, "embedding_attack__tvd_answer", "seat"),
    "steadier_replaced_words": partial(lower_than_vanilla, "word_substitution__js", "seat"),
    "more_necessary_words": more_necessary_words,
    "more_sufficient_words": partial(
        lower_than_vanilla, "comprehensiveness_sufficiency__sufficiency_attention", "seat"
    ),
}


@pytest.mark.parametrize("claim", CLAIM_CASES)
def test_a_claim_is_confirmed_where_it_is_true_and_contradicted_where_it_is_false(claim):
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](True)) == "confirmed"
    assert verdict_of(STUDY, claim, CLAIM_CASES[claim](False)) == "contradicted"


def test_a_method_is_compared_with_the_vanilla_model_of_its_own_encoder():
    other = made_cell("sst2", "rnn", "seat", columns={"word_substitution.js": 0.1})
    results = made_results(measured("vanilla", word_substitution__js=0.4), other)
    assert verdict_of(STUDY, "steadier_replaced_words", results) == "not tested"
