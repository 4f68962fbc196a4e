"""What several tests share: log weights, rankings and their ties, and weights imposed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from heedful.battery import BATTERY, QUESTIONS, Context, Evidence
from heedful.battery.evidence import RANKINGS, affordable
from heedful.battery.weight_ranks import mean_over, top_ties
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of, evidence_by_hand
from support.evidence import KINDS, evidence_of_kind, seeded
from support.four_verbs import FourVerbs
from support.models import make, make_batch


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


def test_the_order_without_ties_is_that_of_the_weights():
    for seed in range(5):
        evidence = evidence_by_hand([1, 2, 3, 4], [0.1, 0.3, 0.4, 0.2], seed=seed)
        assert evidence.ranking("attention").tolist() == [[2, 1, 3, 0]]
        assert evidence.without_top(2).tolist() == [[True, False, False, True]]


def test_a_very_sharp_attention_is_ranked_to_the_end():
    evidence = evidence_by_hand([1, 2, 3, 4], scores=[0.0, 5000.0, 1.0, -3000.0])
    assert evidence.ranking("attention").tolist() == [[1, 2, 0, 3]]
    assert evidence.tops("attention").tolist() == [[False, True, False, False]]


def test_words_without_weight_come_last_together():
    seen = [evidence_by_hand([1, 2, 3], [0.0, 1.0, 0.0], seed=seed) for seed in range(9)]
    orders = {tuple(evidence.ranking("attention")[0].tolist()) for evidence in seen}
    assert orders == {(1, 0, 2), (1, 2, 0)}


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


def test_an_undefined_importance_is_no_first_place():
    values = torch.tensor([[torch.nan, 0.2, 0.1]])
    assert top_ties(values, torch.ones(1, 3, dtype=torch.bool)).tolist() == [[False, True, False]]


def test_a_mean_over_nothing_is_undefined():
    nothing = torch.zeros(1, 2, dtype=torch.bool)
    assert mean_over(torch.ones(1, 2), nothing).isnan().all()


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


def test_a_model_of_ours_affords_all():
    for kind in ["token-wise", "not linear"]:
        assert affordable(evidence_of_kind(kind), 100) == 100


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


def test_without_counts_no_token_is_known():
    assert Context().token_counts().equal(torch.zeros(0, 2, dtype=torch.long))
