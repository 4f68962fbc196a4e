"""Attention held against people's marks: by hand, against the measures, and what the verdict makes of it."""

from dataclasses import replace

import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.battery.evidence import RANKINGS
from heedful.battery.plausibility import NO_MARKS, TEST, item_marks, plausibility
from heedful.errors import SettingError
from heedful.measures.plausibility import average_precision
from heedful.measures.span_overlap import eraser_iou
from heedful.models.trace import trace
from heedful.settings.validation import bind_options
from support.by_hand import Bag, batch_of
from support.evidence import KINDS, evidence_of_kind, make_context, seeded
from support.marked import with_marks
from support.models import BATCH, LENGTHS, TIME, cut, make_batch

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
    assert values["ferret_iou_attention"] == pytest.approx(1 / 3)
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
        "ferret_iou",
    ):
        assert values[f"{measure}_attention"] == pytest.approx(values[f"{measure}_random"]), measure
    assert values["eraser_auprc_attention"] > values["eraser_auprc_random"]


def test_attention_on_the_marks_alone_is_best():
    values = by_hand([0.01, 0.4, 0.01, 0.57, 0.01], [[0, 1, 0, 1, 0]], k=2.0)
    assert values["average_precision_attention"] == values["auroc_attention"] == 1
    for measure in ("token_f1", "hatexplain_precision", "hatexplain_recall", "eraser_precision", "ferret_iou"):
        assert values[f"{measure}_attention"] == pytest.approx(values[f"{measure}_best"]), measure


def test_a_share_of_the_words_may_be_asked_for():
    share, count = (by_hand([0.1, 0.4, 0.2, 0.3], [[0, 1, 1, 0]], k=k) for k in (0.5, 2.0))
    assert {name: value for name, value in share.items() if value == value} == {
        name: value for name, value in count.items() if value == value
    }


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
    marks = item_marks(evidence)
    assert marks is not None and marks.shape == (BATCH, 2, evidence.items.shape[1])
    assert marks[1, 1].isnan().all() and (once.values["annotators"][:2] == torch.tensor([2, 1])).all()


def test_a_sentence_is_marked_if_a_word_of_it_is():
    marks = item_marks(evidence_of_kind("sentences", marked_batch()))
    assert marks is not None and marks[0].tolist() == [[1, 0, 0], [1, 1, 0]] and marks[1, 0].tolist() == [0, 1, 0]


def test_padding_and_neighbours_change_nothing():
    """Of words of the same length, which of them are among the top is drawn, where their spans count."""
    batch, drawn = marked_batch(), ("eraser_precision_longest", "eraser_recall_longest")
    drawn += ("eraser_precision_rarest", "eraser_recall_rarest")
    with torch.no_grad():
        together = plausibility(evidence_of_kind("recurrent", batch), seeded(), k=2.0).values
        for row, length in enumerate(LENGTHS.tolist()):
            alone = with_marks(cut(batch, [row], length), batch.marks[[row], :, :length])
            values = plausibility(evidence_of_kind("recurrent", alone), seeded(), k=2.0).values
            for measure, value in together.items():
                if measure in drawn:
                    continue
                torch.testing.assert_close(value[row], values[measure][0], atol=1e-9, rtol=0, equal_nan=True)


def test_a_start_and_an_end_symbol_count_for_nothing():
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    batch = marked_batch()
    framed = with_marks(replace(cut(batch, [0, 1], TIME), attendable=inner), batch.marks[:2])
    values = plausibility(evidence_of_kind("token-wise", framed), seeded(), k=2.0).values
    assert values["marked"][0] == 3 / 5
    assert values["marked"][1].isnan()  # its only mark is at its end symbol


def test_the_rankings_are_those_of_the_evidence():
    evidence = evidence_of_kind("recurrent", marked_batch())
    marks = item_marks(evidence)
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
    for name in ("average_precision", "token_f1", "eraser_precision", "ferret_iou", "hatexplain_recall"):
        assert values[f"{name}_shap"][1].isnan(), name  # the text has no scores
    assert "average_precision_weight_gradient" not in values


def test_scores_that_are_not_positive_are_no_choice_of_ferrets():
    evidence = evidence_of_kind("recurrent", marked_batch())
    evidence.given = {"shap": -torch.arange(1.0, TIME + 1).double().expand(BATCH, TIME)}
    values = plausibility(evidence, seeded(), by=()).values
    assert values["ferret_iou_shap"][0] == 0 and values["token_f1_shap"][0] > 0
    assert values["ferret_iou_first"][0] > 0  # a position has no sign


def test_nothing_of_the_trace_is_changed():
    evidence = evidence_of_kind("recurrent", marked_batch())
    batch, attention = evidence.trace.batch, evidence.trace.attention.clone()
    before = batch.marks.clone()
    plausibility(evidence, seeded())
    torch.testing.assert_close(batch.marks, before, equal_nan=True)
    assert torch.equal(evidence.trace.attention, attention)


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


def test_without_marks_it_is_not_asked():
    findings = plausibility(evidence_of_kind("recurrent", replace(make_batch(), marks=None)), seeded())
    assert not findings.values and findings.not_asked == NO_MARKS


def test_an_unknown_ranking_lists_the_known():
    with pytest.raises(SettingError, match="unknown ranking 'lime'. .*Known: attention, weight_gradient"):
        plausibility(evidence_of_kind("recurrent", marked_batch()), seeded(), by=("lime",))


@pytest.mark.parametrize(("option", "value"), [("k", 0), ("k", -1.0), ("longest_exact", 0), ("by", 3)])
def test_an_option_beyond_its_bounds_is_refused(option, value):
    with pytest.raises(SettingError, match=f"option '{option}' of test 'plausibility'"):
        bind_options(TEST.function, {option: value}, "test 'plausibility'")


def test_the_context_of_all_tests_gives_the_baselines():
    evidence = evidence_of_kind("recurrent", marked_batch())
    assert evidence.context.vocabulary == make_context().vocabulary
    values = plausibility(evidence, seeded(), by=()).values
    assert not values["average_precision_longest"][:2].isnan().any()
