"""Weights over a text's items, and texts that are too long."""

import pytest

from heedful.errors import DataError, SettingError
from heedful.server.contract import MOST_WORDS
from heedful.server.reading import check_text, cut_to_length, written


def test_weights_go_to_the_items(model):
    case = model("framed")
    with case.served.reading("good film") as read:
        weights = read.weights([0.25, 0.75])
    assert weights.tolist() == [[0, 0.25, 0.75, 0]], "start and end symbols have none"
    assert read.listed(weights) == [0.25, 0.75]


def test_weights_sum_to_1_within_rounding(model):
    with model("average").served.reading("good film") as read:
        read.weights([0.50004, 0.5])
        with pytest.raises(SettingError, match=r"attention must sum to 1; it sums to 1\.0002"):
            read.weights([0.5002, 0.5])
        with pytest.raises(SettingError, match="each of the text's 2 items; it has 3"):
            read.weights([0.5, 0.5, 0.0])


@pytest.mark.parametrize("count, kept", [(MOST_WORDS, MOST_WORDS), (MOST_WORDS + 1, MOST_WORDS)])
def test_long_texts_are_cut_after_a_word(count, kept):
    text = "ab " * count
    shown, notes = cut_to_length(text, [(3 * place, 3 * place + 2) for place in range(count)])
    assert len(shown.split()) == kept and bool(notes) == (count > kept)


def test_a_pair_may_be_read_where_the_model_can():
    check_text("a", "b", has_query=False, may_have_query=True)
    with pytest.raises(DataError, match="query must be left out"):
        check_text("a", "b", has_query=False)


def test_half_a_surrogate_pair_is_replaced():
    assert written("a\ud800b") == "a?b"
