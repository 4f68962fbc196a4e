"""The answer in words: what relevance comes to, what the other groups say, what to do."""

import pytest

from heedful.schema import Advice, Headline, Training
from heedful.verdict.counting import counted
from heedful.verdict.headline import headline
from support.lines import countable_line as line
from support.lines import countable_verdict as verdict

HOLDS, FAILS, UNDECIDED, NOT_COUNTED = line(), line(0.2, 0.4), line(0.4, 0.6), line(texts=19)


def headline_of(*lines, **changes) -> Headline:
    return headline(counted(verdict(*lines).model_copy(update=changes)))


@pytest.mark.parametrize(
    ("lines", "answer", "lead"),
    [
        ([HOLDS] * 3, "yes", "Yes, it may be shown, as far as these tests can tell."),
        ([HOLDS] * 3 + [UNDECIDED] * 4, "yes", "Yes, it may be shown, as far as these tests can tell."),
        ([HOLDS] * 2, "undecided", "Undecided."),
        ([UNDECIDED] * 5, "undecided", "Undecided."),
        ([NOT_COUNTED] * 5, "undecided", "Undecided."),
        ([], "undecided", "Undecided."),
        ([HOLDS, FAILS], "in part", "Only in part."),
        ([HOLDS] * 5 + [FAILS], "in part", "Only in part."),
        ([HOLDS, FAILS, FAILS], "no", "No, not as an explanation."),
        ([FAILS], "no", "No, not as an explanation."),
    ],
)
def test_the_headline_weighs_what_is_decided(lines, answer, lead):
    made = headline_of(*lines)
    assert (made.answer, made.lead) == (answer, lead)


@pytest.mark.parametrize("group", ["exclusivity", "stability", "plausibility"])
def test_only_relevance_counts_for_the_headline(group):
    others = [line(0.2, 0.4, group=group)] * 4
    assert headline_of(*[HOLDS] * 3, *others).answer == "yes"


def test_the_headline_says_on_how_many():
    text = headline_of(HOLDS, HOLDS, FAILS, UNDECIDED, NOT_COUNTED).text
    assert text.startswith("Of 4 questions of relevance attention holds on 2 and fails on 1; 1 is undecided. ")
    assert headline_of(HOLDS).text.startswith("Of 1 question of relevance attention holds on 1 and fails on 0. ")


@pytest.mark.parametrize(("count", "words"), [(0, "one training"), (1, "one training"), (3, "3 trainings")])
def test_the_headline_says_on_how_many_trainings_it_rests(count, words):
    text = headline_of(HOLDS, trainings=(Training(run="r"),) * count).text
    assert f"This rests on {words} and 20 texts" in text
    assert ("another seed may answer otherwise" in text) is (count < 2)


def test_the_headline_says_what_to_do():
    advice = Advice(action="instead", ranking="attention_x_gradient", sentence="Show the product.")
    assert headline_of(FAILS, advice=advice).advice == "Show the product."
    assert headline_of(FAILS, advice=advice).sentences[-1] == "Show the product."
    assert headline_of(FAILS).advice.startswith("Show nothing: no other ranking was tested")
    assert headline_of(*[HOLDS] * 3).advice == "Attention may be shown."


@pytest.mark.parametrize(
    ("changes", "answer", "words"),
    [
        ({"learnt": False}, "nothing to explain", "not surely better than always giving the most common answer"),
        ({"texts": 2}, "too few texts", "Only 2 texts were audited"),
        ({"texts": 1}, "too few texts", "Only 1 text was audited"),
        ({"texts": 2, "learnt": False}, "too few texts", "Only 2 texts were audited"),
    ],
)
def test_behind_a_shut_gate_there_is_no_count(changes, answer, words):
    made = headline_of(*[HOLDS] * 3, line(group="stability"), **changes)
    assert made.answer == answer and words in made.text
    assert "questions" not in made.text and made.beside == () and made.advice.startswith("Show nothing")


def beside(group: str, *lines) -> tuple[str, ...]:
    return headline_of(*(own.model_copy(update={"group": group}) for own in lines)).beside


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        ([HOLDS], "It is stable (holds: seeds)."),
        ([FAILS], "It is not stable (fails: seeds)."),
        ([HOLDS, FAILS], "It is stable in some respects only (holds: seeds; fails: seeds)."),
        ([HOLDS, FAILS, UNDECIDED], "As far as this is decided, it is stable in some respects only (holds: seeds; "),
        ([HOLDS, UNDECIDED], "As far as this is decided, it is stable (holds: seeds; undecided: seeds)."),
        ([UNDECIDED], "Whether it is stable is undecided (undecided: seeds)."),
        ([NOT_COUNTED], "Whether it is stable could not be measured."),
    ],
)
def test_stability_is_a_sentence_with_its_topics(lines, begins):
    (sentence,) = beside("stability", *(own.model_copy(update={"topic": "seeds"}) for own in lines))
    assert sentence.startswith(begins)


def test_a_group_that_was_not_asked_is_not_spoken_of():
    assert headline_of(HOLDS, FAILS).beside == ()


def test_other_attention_that_does_as_well_is_no_proof_against_this_one():
    (sentence,) = beside("exclusivity", FAILS)
    assert sentence.startswith("Other attention would do as well, which by itself does not make this one false")
    redundant = headline_of(FAILS.model_copy(update={"group": "exclusivity"}), redundancy=0.432).beside
    assert redundant[0].endswith("In 43.2 % of the texts several words, each alone, give the decision.")
    held = headline_of(HOLDS.model_copy(update={"group": "exclusivity"}), redundancy=0.432).beside
    assert "each alone" not in held[0]


def test_pointing_where_people_point_is_no_evidence():
    (sentence,) = beside("plausibility", HOLDS)
    assert "which is no evidence of how the model decides" in sentence
