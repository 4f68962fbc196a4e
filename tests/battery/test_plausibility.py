"""Attention held against people's marks: by hand, against the measures, and what the verdict makes of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.battery.evidence import RANKINGS
from heedful.battery.plausibility import (
    QUESTIONS,
    baseline_scores,
    item_rationales,
    plausibility,
    strongest_baseline,
)
from heedful.battery.question import QuestionResult
from heedful.measures.average_precision import average_precision
from heedful.measures.span_overlap import eraser_iou
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of
from support.evidence import KINDS, evidence_of_kind, seeded
from support.marked import with_marks
from support.models import BATCH, LENGTHS, TIME, make, make_batch

NAN = torch.nan
WORDS = ("<pad>", "<unk>", "<start>", "<end>", "a", "film", "was", "wonderful")


def marked_batch(has_query=False, annotators=2):
    """Of the first text two annotators marked words, of the second one; the third is a single word, marked."""
    marks = torch.zeros(BATCH, annotators, TIME)
    marks[0, 0, [1, 2]] = 1
    marks[1, 0, 3] = 1
    marks[2, 0, 0] = 1
    if annotators > 1:
        marks[0, 1, [2, 5]] = 1
        marks[1:, 1] = NAN
    return with_marks(make_batch(has_query), marks)


def by_hand(weights, marks, **options):
    """One text of words that all say the same, with these weights."""
    model = Bag(torch.ones(len(weights)).double(), torch.tensor(weights).double().log())
    batch = with_marks(batch_of(1, len(weights)), torch.tensor([marks]).float())
    evidence = Evidence(model, trace(model, batch), Context())
    found = plausibility(evidence, seeded(), by=("attention",), **options).values
    return {name: value.item() for name, value in found.items()}


def test_the_numbers_of_a_text_by_hand():
    """Marked are the first and the third by weight: AP is (1 + 2/3) / 2; of the top 2 one is marked."""
    values = by_hand([0.1, 0.4, 0.2, 0.3], [[0, 1, 1, 0]], k=2.0)
    assert values["average_precision_attention"] == pytest.approx(5 / 6)
    assert values["auroc_attention"] == pytest.approx(3 / 4)
    assert values["token_f1_attention"] == pytest.approx(1 / 2)
    assert values["token_f1_random"] == pytest.approx(1 / 2)
    assert values["token_f1_best"] == pytest.approx(1)
    # 1 and 3, each a span, against the span of 1 and 2: one is matched
    assert (values["hatexplain_precision_attention"], values["hatexplain_recall_attention"]) == (0.5, 1.0)
    assert (values["eraser_precision_attention"], values["eraser_recall_attention"]) == (0.5, 1.0)
    assert (values["hatexplain_precision_best"], values["hatexplain_recall_best"]) == (1.0, 2.0)
    assert values["marked"] == 0.5 and values["eraser_auprc_constant"] == pytest.approx(0.75)
    # the first words: 0 and 1 before 2 and 3
    assert values["average_precision_first"] == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_uniform_attention_gets_the_floor():
    values = by_hand([0.2] * 5, [[0, 1, 0, 0, 1]], k=2.0)
    for measure in (
        "average_precision",
        "auroc",
        "token_f1",
        "hatexplain_precision",
        "hatexplain_recall",
    ):
        assert values[f"{measure}_attention"] == pytest.approx(values[f"{measure}_random"]), measure
    assert values["eraser_auprc_attention"] > values["eraser_auprc_random"]


def test_several_annotators_are_a_yardstick():
    """Of two who marked 0 and 1, and 1 alone: F1 is 2/3. Attention is held against the one, then against the other."""
    values = by_hand([0.1, 0.4, 0.2, 0.3], [[1, 1, 0, 0], [0, 1, 0, 0]])
    assert values["annotators"] == 2 and values["annotator_f1"] == pytest.approx(2 / 3)
    assert values["annotator_kappa"] == pytest.approx(0.5)
    alone = by_hand([0.1, 0.4, 0.2, 0.3], [[1, 1, 0, 0]])
    other = by_hand([0.1, 0.4, 0.2, 0.3], [[0, 1, 0, 0]])
    each = (alone["average_precision_attention"] + other["average_precision_attention"]) / 2
    assert values["average_precision_attention_others"] == pytest.approx(each)
    assert values["average_precision_attention"] == alone["average_precision_attention"]  # the union
    assert alone["annotator_f1"] != alone["annotator_f1"]


def test_long_words_and_rare_words_are_baselines():
    tokens = torch.tensor([[4, 5, 6, 7, 1]])
    model = Bag(torch.zeros(8).double(), torch.zeros(8).double())
    batch = with_marks(replace(batch_of(1, 5), tokens=tokens), torch.tensor([[[0.0, 0, 0, 1, 0]]]))
    counts = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [9, 9], [2, 1], [5, 5], [1, 0]])
    context = Context(vocabulary=WORDS, token_counts=lambda: counts)
    values = plausibility(Evidence(model, trace(model, batch), context), seeded(), by=()).values
    assert values["average_precision_longest"].item() == 1.0
    assert values["average_precision_rarest"].item() == 0.5  # after the unknown word, which was never seen
    assert values["average_precision_first"].item() == 0.25
    unknown = plausibility(Evidence(model, trace(model, batch), Context()), seeded(), by=()).values
    assert unknown["average_precision_longest"].isnan() and unknown["average_precision_rarest"].isnan()


@pytest.mark.parametrize("kind", KINDS)
def test_every_measure_is_one_number_a_text_for_every_kind_of_model(kind):
    batch = marked_batch(KINDS[kind].get("has_query", False))
    evidence = evidence_of_kind(kind, batch)
    with torch.no_grad():
        once, again = (plausibility(evidence_of_kind(kind, batch), seeded(), k=2.0) for _ in range(2))
    names = (*RANKINGS, "random", "first", "longest", "rarest")
    assert {f"average_precision_{name}" for name in names} <= set(once.values)
    for measure, value in once.values.items():
        assert value.shape == (BATCH,) and value.dtype == torch.float64 and not value.isinf().any(), measure
        torch.testing.assert_close(value, again.values[measure], atol=0, rtol=0, equal_nan=True)
        assert value[2].isnan(), measure  # a text of one item
    marks = item_rationales(evidence)
    assert marks is not None and marks.shape == (BATCH, 2, evidence.items.shape[1])
    assert marks[1, 1].isnan().all() and (once.values["annotators"][:2] == torch.tensor([2, 1])).all()


def test_a_sentence_is_marked_if_a_word_of_it_is():
    marks = item_rationales(evidence_of_kind("sentences", marked_batch()))
    assert marks is not None and marks[0].tolist() == [[1, 0, 0], [1, 1, 0]] and marks[1, 0].tolist() == [0, 1, 0]


def test_the_rankings_are_those_of_the_evidence():
    evidence = evidence_of_kind("recurrent", marked_batch())
    marks = item_rationales(evidence)
    assert marks is not None
    found, marked = plausibility(evidence, seeded()).values, (marks > 0).any(1)
    for name, ranking in RANKINGS.items():
        wanted = average_precision(ranking(evidence), marked, evidence.items)[:2]
        torch.testing.assert_close(found[f"average_precision_{name}"][:2], wanted, equal_nan=True)
    top = evidence.ranking("attention")[:, :5]
    chosen = torch.zeros_like(evidence.items).scatter(1, top, True) & evidence.items
    torch.testing.assert_close(
        found["eraser_precision_attention"][:2], eraser_iou(chosen, marked, evidence.items)[0][:2]
    )


def test_scores_from_outside_stand_beside_the_others():
    evidence = evidence_of_kind("recurrent", marked_batch())
    scores = torch.zeros(BATCH, TIME, dtype=torch.float64)
    scores[0, [1, 2, 5]] = 1.0
    scores[1] = NAN
    evidence.given = {"shap": scores}
    values = plausibility(evidence, seeded(), by=("attention",)).values
    assert values["average_precision_shap"][0] == 1 and values["token_f1_shap"][0] == values["token_f1_best"][0]
    for name in ("average_precision", "token_f1", "eraser_precision", "hatexplain_recall"):
        assert values[f"{name}_shap"][1].isnan(), name  # the text has no scores
    assert "average_precision_weight_gradient" not in values


def test_long_texts_get_no_exact_floor_of_erasers_iou():
    evidence = evidence_of_kind("recurrent", marked_batch())
    values = plausibility(evidence, seeded(), longest_exact=4).values
    for name in ("eraser_precision_random", "eraser_recall_best"):
        assert values[name].isnan().tolist() == [True, False, True]
    assert not values["eraser_precision_attention"][:2].isnan().any()


def test_a_text_in_which_nothing_is_marked_is_undefined():
    batch = with_marks(make_batch(), torch.zeros(BATCH, 1, TIME))
    values = plausibility(evidence_of_kind("recurrent", batch), seeded()).values
    assert values and all(value.isnan().all() for value in values.values())


# Scores that know nothing of the model.

WORDS_PLAUSIBLE_BASELINES = ("<pad>", "<unk>", "<start>", "<end>", "a", "film", "wonderful")
COUNTS = torch.tensor([[0, 0]] * 4 + [[9, 9], [2, 1], [1, 0]])


def scores_of(tokens, context):
    model = Bag(torch.zeros(9).double(), torch.zeros(9).double())
    batch = replace(batch_of(1, len(tokens)), tokens=torch.tensor([tokens]))
    return {
        name: own[0].tolist() for name, own in baseline_scores(Evidence(model, trace(model, batch), context)).items()
    }


def test_by_position_length_and_rarity():
    scores = scores_of([4, 6, 5], Context(vocabulary=WORDS_PLAUSIBLE_BASELINES, token_counts=lambda: COUNTS))
    assert scores == {"first": [0, -1, -2], "longest": [1, 9, 4], "rarest": [-18, -1, -3]}


def test_what_is_not_known_is_undefined():
    scores = scores_of([4, 6], Context())
    assert all(value != value for name in ("longest", "rarest") for value in scores[name])
    nobody = scores_of([1, 1], Context(vocabulary=WORDS_PLAUSIBLE_BASELINES, token_counts=lambda: COUNTS))
    assert all(value != value for value in nobody["longest"])
    beyond = scores_of([4, 8], Context(vocabulary=WORDS_PLAUSIBLE_BASELINES, token_counts=lambda: COUNTS))
    assert beyond["longest"] == [1, 1] and beyond["rarest"][1] != beyond["rarest"][1]


def test_a_sentence_is_as_long_as_its_words_together_and_as_rare_as_its_rarest():
    model, batch = make("hierarchical"), make_batch()
    words = tuple("x" * (number + 1) for number in range(11))
    counts = torch.arange(1, 12)[:, None].expand(-1, 2)
    context = Context(vocabulary=words, token_counts=lambda: counts)
    scores = baseline_scores(Evidence(model, trace(model, batch), context))
    assert batch.sentence is not None
    for row, length in enumerate(LENGTHS.tolist()):
        sentence, tokens = batch.sentence[row, :length], batch.tokens[row, :length]
        for number in range(int(sentence.max()) + 1):
            own = tokens[sentence == number] + 1
            assert scores["longest"][row, number] == own.sum() and scores["rarest"][row, number] == -2 * own.min()
    assert scores["first"].shape == (BATCH, 3)


def test_words_of_several_tokens_are_looked_up_by_their_own_numbers():
    """Whatever the numbers of their tokens; a word that has none is of mean length, and its rarity is not known."""
    numbers = torch.tensor([[6, 4, -1]])
    words = SimpleNamespace(numbers=lambda batch: numbers, rewritten=len, tokens_of=len)
    context = Context(vocabulary=WORDS_PLAUSIBLE_BASELINES, token_counts=lambda: COUNTS, item_words=words)
    scores = scores_of([5, 5, 5], context)
    assert (
        scores["longest"] == [9, 1, 5]
        and scores["rarest"][:2] == [-1, -18]
        and scores["rarest"][2] != scores["rarest"][2]
    )


# What the verdict asks about people's marks: the floor is the strongest trivial ranking; words are plain.

RANKING, TOP = QUESTIONS
PARTS = ("hatexplain_precision", "hatexplain_recall", "eraser_precision", "eraser_recall")


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


def test_it_is_asked_only_where_there_are_marks_and_apart_from_relevance():
    for question in QUESTIONS:
        assert question.group == "plausibility" and set(question.needs) <= set(columns())
        assert question.best_kind == "ceiling" and "rationales" in question.wording("word")


def test_another_annotator_is_named_where_there_is_one():
    alone = RANKING.details(columns())
    assert "another annotator" not in RANKING.sentence(QuestionResult(0.8, 0.5, 1.0, alone))
    several = RANKING.details(columns(average_precision_annotator=0.72, average_precision_attention_others=0.61))
    assert several["another annotator, against all others"] == pytest.approx(0.72)
    assert several["attention, against all annotators but one"] == pytest.approx(0.61)
    assert "another annotator's rationale has 0.72" in RANKING.sentence(QuestionResult(0.8, 0.5, 1.0, several))


def test_details_have_every_ranking_and_iou_by_both_definitions():
    details = RANKING.details(columns(average_precision_shap=0.66))
    assert details["shap"] == pytest.approx(0.66) and details["the longest words first"] == pytest.approx(0.5)
    assert details["AUROC of attention"] == pytest.approx(0.9)
    top = TOP.details(columns(hatexplain_precision_attention=0.5, hatexplain_recall_attention=0.25))
    assert top["IOU F1 as HateXplain has it"] == pytest.approx(1 / 3)
    assert {"IOU F1 as ERASER has it", "IOU F1 as ERASER has it, best possible"} <= set(top)
    assert not any(value != value for value in {**details, **top}.values())
