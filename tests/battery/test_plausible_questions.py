"""What the verdict asks about people's marks: the floor is the strongest trivial ranking; words are plain."""

import pytest
import torch

from heedful.battery.plausible_questions import BASELINES, NO_EVIDENCE, QUESTIONS, strongest_baseline
from heedful.battery.question import QuestionResult

RANKING, TOP = QUESTIONS
PARTS = ("hatexplain_precision", "hatexplain_recall", "eraser_precision", "eraser_recall", "ferret_iou")


def columns(attention=0.8, random=0.4, first=0.3, longest=0.5, rarest=0.45, texts=30, **more):
    """The same value in every text, for two seeds."""
    rankings = {"attention": attention, "random": random, "first": first, "longest": longest, "rarest": rarest}
    values = {f"average_precision_{name}": value for name, value in rankings.items()}
    values |= {f"token_f1_{name}": value / 2 for name, value in rankings.items()} | {"token_f1_best": 0.6}
    values |= {f"{part}_{name}": 0.25 for part in PARTS for name in ("attention", "random", "best")}
    values |= {"auroc_attention": 0.9, "marked": 0.3, "average_precision_annotator": torch.nan}
    values |= {"average_precision_attention_others": torch.nan, **more}
    return {f"plausibility.{name}": torch.full((2, texts), value).double() for name, value in values.items()}


def means(triple):
    return [part.mean().item() for part in triple]


def test_the_floor_is_the_strongest_ranking_that_knows_nothing():
    assert means(RANKING.measured(columns())) == pytest.approx([0.8, 0.5, 1.0])
    assert means(RANKING.measured(columns(first=0.7))) == pytest.approx([0.8, 0.7, 1.0])
    assert means(TOP.measured(columns())) == pytest.approx([0.4, 0.25, 0.6])
    assert strongest_baseline(columns(rarest=0.9), "average_precision")[0] == "rarest"


def test_a_ranking_that_is_not_known_for_every_text_is_no_floor():
    known = columns()
    known["plausibility.average_precision_longest"][0, 3] = torch.nan
    assert strongest_baseline(known, "average_precision")[0] == "rarest"
    undefined = columns(longest=torch.nan, rarest=torch.nan, first=torch.nan)
    assert strongest_baseline(undefined, "average_precision")[0] == "random"


def test_a_text_without_marks_leaves_the_floor_as_it_is():
    known = columns()
    for values in known.values():
        values[:, 5] = torch.nan
    assert strongest_baseline(known, "average_precision")[0] == "longest"


def test_where_nothing_is_defined_the_floor_is_random():
    nothing = {name: torch.full_like(values, torch.nan) for name, values in columns().items()}
    name, values = strongest_baseline(nothing, "average_precision")
    assert name in BASELINES and values.isnan().all()


def test_it_is_asked_only_where_there_are_marks_and_apart_from_relevance():
    for question in QUESTIONS:
        assert question.group == "plausibility" and set(question.needs) <= set(columns())
        assert question.best_kind == "ceiling" and "people" in question.wording("word")


def test_the_sentences_say_that_it_is_no_evidence_of_how_the_model_decides():
    for question in QUESTIONS:
        details = question.details(columns())
        sentence = question.sentence(QuestionResult(0.8, 0.5, 1.0, details, "sentence"))
        assert NO_EVIDENCE in sentence and "0.80" in sentence and "0.50" in sentence and "sentences" in sentence


def test_the_strongest_ranking_that_knows_nothing_is_named():
    for changes, name in (({}, "the longest words first"), ({"first": 0.7}, "the first words first")):
        details = RANKING.details(columns(**changes))
        assert f"by {name}, the best of four" in RANKING.sentence(QuestionResult(0.8, 0.5, 1.0, details))


def test_another_annotator_is_named_where_there_is_one():
    alone = RANKING.details(columns())
    assert "another annotator" not in RANKING.sentence(QuestionResult(0.8, 0.5, 1.0, alone))
    several = RANKING.details(columns(average_precision_annotator=0.72, average_precision_attention_others=0.61))
    assert several["another annotator, against all others"] == pytest.approx(0.72)
    assert several["attention, against all annotators but one"] == pytest.approx(0.61)
    assert "another annotator's marks have 0.72" in RANKING.sentence(QuestionResult(0.8, 0.5, 1.0, several))


def test_details_have_every_ranking_and_iou_by_all_three_definitions():
    details = RANKING.details(columns(average_precision_shap=0.66))
    assert details["shap"] == pytest.approx(0.66) and details["the longest words first"] == pytest.approx(0.5)
    assert details["AUROC of attention"] == pytest.approx(0.9)
    top = TOP.details(columns(hatexplain_precision_attention=0.5, hatexplain_recall_attention=0.25))
    assert top["IOU F1 as HateXplain has it"] == pytest.approx(1 / 3)
    assert {"IOU F1 as ERASER has it", "IOU as ferret has it", "IOU as ferret has it, best possible"} <= set(top)
    assert not any(value != value for value in {**details, **top}.values())
