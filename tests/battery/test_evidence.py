"""What several tests share: log weights, rankings and their ties, and weights imposed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from heedful.battery import BATTERY, QUESTIONS, Context, Evidence
from heedful.battery.evidence import RANKINGS, affordable
from heedful.measures.ranking import dense_ranks, top_ties
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of, evidence_by_hand
from support.evidence import KINDS, evidence_of_kind, seeded
from support.four_verbs import FourVerbs
from support.models import BATCH, make, make_batch


def test_log_weights_are_the_logarithms_of_attention():
    for kind in KINDS:
        evidence = evidence_of_kind(kind)
        torch.testing.assert_close(evidence.log_attention.exp(), evidence.attention)
        assert (evidence.log_attention[~evidence.items] == -torch.inf).all()
        assert torch.equal(evidence.num_weighted, evidence.count)


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_log_weights_too_low_for_weights_are_taken_from_the_scores(temperature):
    model = make(temperature=temperature)
    model.get_parameter("attention.score.weight").data *= 1e5
    with torch.no_grad():
        evidence = Evidence(model, trace(model, make_batch()))
    assert (evidence.attention[evidence.items] == 0).any()
    assert evidence.log_attention[evidence.items].isfinite().all()
    scores, log_weights = (values[0] - values[0, 0] for values in (evidence.trace.scores, evidence.log_attention))
    torch.testing.assert_close(log_weights, scores / temperature)


def test_attention_that_is_not_the_softmax_of_its_scores_is_taken_as_it_is():
    """Sparse attention: what has no weight has none, whatever its score."""
    evidence = evidence_by_hand([1, 2, 3], scores=[0.0, 1.0, 2.0])
    sparse = replace(evidence.trace, attention=torch.tensor([[0.0, 0.25, 0.75]]).double())
    seen = Evidence(evidence.model, sparse)
    torch.testing.assert_close(seen.log_attention.exp(), sparse.attention)
    assert seen.num_weighted.tolist() == [2]


def test_ties_are_ranked_in_random_order_and_never_by_position():
    firsts = {
        evidence_by_hand([1, 2, 3, 4], [0.3, 0.3, 0.1, 0.3], seed=seed).ranking("attention")[0, 0].item()
        for seed in range(30)
    }
    assert firsts == {0, 1, 3}


def test_a_very_sharp_attention_is_ranked_to_the_end():
    evidence = evidence_by_hand([1, 2, 3, 4], scores=[0.0, 5000.0, 1.0, -3000.0])
    assert evidence.ranking("attention").tolist() == [[1, 2, 0, 3]]
    assert evidence.tops("attention").tolist() == [[False, True, False, False]]


def test_a_ranking_is_an_order_of_all_items_before_padding():
    for name in RANKINGS:
        for kind in KINDS:
            evidence = evidence_of_kind(kind)
            order = evidence.ranking(name)
            assert torch.equal(order.sort(1).values, torch.arange(order.shape[1]).expand_as(order))
            is_item = evidence.items.gather(1, order)
            assert torch.equal(is_item, torch.arange(order.shape[1]) < evidence.count[:, None])
            tops = evidence.tops(name)
            assert tops.any(1).all() and not (tops & ~evidence.items).any()
            assert tops.gather(1, order[:, :1]).all()


def test_permuted_weights_are_the_same_weights():
    for kind in KINDS:
        evidence = evidence_of_kind(kind)
        permuted = evidence.permuted_log_attention.exp()
        torch.testing.assert_close(permuted.sort(1).values, evidence.attention.sort(1).values)
        assert (permuted[~evidence.items] == 0).all()


def test_erasing_one_item_by_running_is_erasing_it_exactly():
    evidence = evidence_by_hand([1, -2, 3, 4], scores=[0.0, 5000.0, 1.0, -3000.0], bias=0.3)
    plain = Evidence(FourVerbs(evidence.model), evidence.trace)
    torch.testing.assert_close(plain.erased_logits, evidence.erased_logits)


def columns_of(evidence: Evidence) -> dict[str, torch.Tensor]:
    """What the questions of relevance are made from, of one batch."""
    return {
        f"{name}.{measure}": value[None]
        for name in sorted({need for question in RELEVANCE for need in question.needs})
        for measure, value in BATTERY[name].function(evidence, seeded()).values.items()
    }


def bags(weigh) -> Evidence:
    """Twenty texts of six words with random logits, and weights made from them."""
    logits = 3 * torch.randn(20, 6, generator=seeded(4)).double()
    model = Bag(logits.flatten(), weigh(logits).flatten())
    return Evidence(model, trace(model, batch_of(20, 6)))


RELEVANCE = [question for question in QUESTIONS if question.group == "relevance" and question.name != "token_scores"]
AGREEMENT = ("gradient_agreement", "leave_one_out_agreement")


def test_uniform_attention_is_at_the_floor_of_every_question_of_relevance():
    """Its agreement is undefined, its other scores are 0: not those of the first word."""
    columns = columns_of(bags(torch.zeros_like))
    for question in RELEVANCE:
        value, floor, best = question.measured(columns)
        if question.name in AGREEMENT:
            assert value.isnan().all(), question.name
        else:
            assert (best > floor).any(), question.name
            torch.testing.assert_close(value, floor, equal_nan=True, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", ["erase_one", "erase_until_flip"])
def test_all_weight_on_the_first_word_leaves_nothing_to_erase(name):
    """Undefined for value, floor and best alike: what is left would be the empty text."""
    first = torch.tensor([0.0] + 5 * [-torch.inf]).double()
    columns = columns_of(bags(lambda logits: first.expand_as(logits)))
    (question,) = (question for question in QUESTIONS if question.name == name)
    for part in question.measured(columns):
        assert part.isnan().all()


def test_permuted_evidence_is_the_model_under_its_permuted_weights():
    for kind in KINDS:
        evidence = evidence_of_kind(kind)
        permuted = evidence.attention.gather(1, evidence.permutation)
        torch.testing.assert_close(evidence.permuted.attention, permuted)
        torch.testing.assert_close(evidence.permuted.log_attention.exp(), permuted)
        torch.testing.assert_close(evidence.permuted.probabilities, evidence.decode(permuted).softmax(-1))


@pytest.mark.parametrize(("is_cheap", "count", "wanted"), [(True, 100, 100), (False, 100, 10), (False, 7, 2)])
def test_a_transformer_that_is_run_anew_for_each_affords_a_tenth(monkeypatch, is_cheap, count, wanted):
    evidence = evidence_of_kind("token-wise")
    monkeypatch.setattr(evidence, "heads", SimpleNamespace(is_cheap=is_cheap), raising=False)
    assert affordable(evidence, count) == wanted


def test_what_needs_the_context_alone_is_computed_once():
    asked = []

    def length(context, more):
        asked.append(more)
        return len(context.vocabulary) + more

    context = Context(vocabulary=("a", "b"))
    assert [context.once(length, 1), context.once(length, 1), context.once(length, 5)] == [3, 3, 7]
    assert asked == [1, 5]


TESTS = ("erase_until_flip", "comprehensiveness_sufficiency", "plausibility", "ranking_agreement")


def at_random(evidence):
    return torch.rand(evidence.items.shape, generator=seeded()).double()


def found(name, kind="recurrent", given=None):
    plain = evidence_of_kind(kind)
    scores = {own: importance(plain) for own, importance in (given or {}).items()}
    evidence = Evidence(plain.model, plain.trace, plain.context, given=scores)
    with torch.no_grad():
        return BATTERY[name].function(evidence, seeded()).values


def test_scores_that_are_a_known_ranking_s_get_its_numbers_and_change_no_other_s():
    for kind in ["token-wise", "recurrent", "not linear", "sentences", "five classes", "frozen"]:
        for name in TESTS:
            values = found(name, kind, {"mine": RANKINGS["leave_one_out"], "other": at_random})
            for measure, value in found(name, kind).items():
                if "minimal" not in measure or kind != "not linear":  # there the minimum is the best of the rankings
                    torch.testing.assert_close(value, values[measure], atol=1e-12, rtol=0, equal_nan=True)
            pairs = {
                measure: measure.replace("mine", "leave_one_out") for measure in values if measure.endswith("_mine")
            }
            pairs = {mine: own for mine, own in pairs.items() if own in values and not mine.startswith("tau")}
            assert pairs or name == "ranking_agreement"
            for mine, own in pairs.items():
                torch.testing.assert_close(values[mine], values[own], atol=1e-9, rtol=0, equal_nan=True)


@pytest.mark.parametrize("name", TESTS)
def test_a_text_without_scores_is_undefined_for_them_alone(name):
    def missing(evidence):
        scores = at_random(evidence)
        scores[0] = torch.nan
        return scores

    values = found(name, "five classes", {"mine": missing})
    own = {measure: value for measure, value in values.items() if measure.endswith("_mine")}
    assert own and all(value.shape == (BATCH,) and value[0].isnan() for value in own.values())
    assert any(not value[1].isnan() for value in own.values())
    assert any(not value[0].isnan() for measure, value in values.items() if measure not in own)


ITEMS = torch.tensor([[True, True, True, False]])


def test_values_that_differ_by_rounding_share_a_place_and_undefined_ones_come_last():
    values = torch.tensor([[0.2, 0.2 + 1e-12, 0.5, 9.0], [torch.nan, 0.1, -3.0, 9.0]], dtype=torch.float64)
    ranks = dense_ranks(values, ITEMS.expand(2, 4))
    assert ranks[0, 0] == ranks[0, 1] < ranks[0, 2]
    assert ranks[1, 1] > ranks[1, 2] > ranks[1, 0]


def test_the_first_place_may_be_shared_and_is_never_padding():
    assert top_ties(torch.tensor([[0.5, 0.1, 0.5, 9.0]]), ITEMS).tolist() == [[True, False, True, False]]
