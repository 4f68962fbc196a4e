import pytest

from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.tokenized_texts import match_labels


def test_names_are_the_same_but_for_case_spaces_and_hyphens():
    matched = match_labels(["ENTAILMENT", "Not-Entailment"], ["not_entailment", "entailment "])
    assert matched.classes == (1, 0) and matched.names == ("entailment ", "not_entailment") and not matched.note


def test_the_data_may_lack_a_class():
    matched = match_labels(["negative", "neutral", "positive"], ["positive", "negative"])
    assert matched.classes == (2, 0) and matched.names == ("negative", "neutral", "positive")


def test_numbers_are_those_of_classes_and_that_is_said():
    matched = match_labels(["NEGATIVE", "POSITIVE"], ["0", "1"])
    assert matched.classes == (0, 1) and matched.names == ("NEGATIVE", "POSITIVE")
    assert "0 as NEGATIVE, 1 as POSITIVE" in matched.note
    assert match_labels(["LABEL_0", "LABEL_1"], ["0", "1"]).names == ("0", "1")


@pytest.mark.parametrize("labels", [["negative", "positive"], ["1", "2"], ["0", "1", "2"]])
def test_an_error_shows_both_where_they_do_not_match(labels):
    with pytest.raises(DataError) as error:
        match_labels(["LABEL_0", "LABEL_1"], labels)
    for name in (*labels, "LABEL_0", "LABEL_1", "id2label"):
        assert name in str(error.value)


def test_classes_are_renamed():
    matched = match_labels(["LABEL_0", "LABEL_1"], ["bad", "good"], {"LABEL_0": "good", "LABEL_1": "bad"})
    assert matched.classes == (1, 0)
    with pytest.raises(SettingError, match="'LABEL_0', 'LABEL_1'; it names 'LABEL_2'"):
        match_labels(["LABEL_0", "LABEL_1"], ["bad", "good"], {"LABEL_2": "good"})


def test_two_labels_for_one_class_are_refused():
    with pytest.raises(DataError, match="must be different classes"):
        match_labels(["bad", "good"], ["good", "Good"])


def test_a_name_that_two_classes_have_decides_nothing():
    with pytest.raises(DataError, match="Not among them: 'good'"):
        match_labels(["good", "Good", "bad"], ["good", "bad"])
