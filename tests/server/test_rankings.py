"""Rankings beside attention: people's marks, and what is too costly."""

from dataclasses import replace

from heedful.server.rankings import can_be_judged, is_affordable, rankings_of
from heedful.settings import AuditSettings

SETTINGS = AuditSettings()


def test_marks_are_a_ranking(model):
    case = model("average")
    with case.served.reading(case.text) as read:
        assert "rationale" not in {ranking.name for ranking in rankings_of(read, SETTINGS, is_quick=True)}
        marked = rankings_of(replace(read, marks=(4,)), SETTINGS, is_quick=True)[-1]
    assert marked.name == "rationale" and marked.weights == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_sentence_is_marked_by_the_share_of_its_words(model):
    case = model("hierarchical")
    with case.served.reading(case.text) as read:
        marked = rankings_of(replace(read, marks=(3, 13, 12)), SETTINGS, is_quick=True)[-1]
    assert marked.weights == [0.2, 0, 0.5]


def test_texts_that_are_long_to_judge_have_other_rankings(model):
    with model("bilstm").served.reading("good film " * 50 + "so") as read:
        assert is_affordable(read) and not can_be_judged(read)
        ranked = {ranking.name: ranking.badge for ranking in rankings_of(read, SETTINGS)}
    assert "leave_one_out" in ranked and "effect" not in ranked and set(ranked.values()) == {""}
    with model("bilstm").served.reading("good film " * 50) as read:
        assert can_be_judged(read)


def test_long_texts_have_no_costly_rankings(model):
    case = model("bilstm")
    with case.served.reading("good film " * 100) as read:
        assert is_affordable(read)
    with case.served.reading("good film " * 100 + "so") as read:
        assert not is_affordable(read)
        assert {ranking.name for ranking in rankings_of(read, SETTINGS)} == {
            "attention",
            "weight_gradient",
            "attention_x_gradient",
        }
