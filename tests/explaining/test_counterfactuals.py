"""Predictions explained: by hand on a toy, against the battery and the judge, whatever their batch."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from heedful.auditing.outcomes import Judge
from heedful.battery import BATTERY, Context, Evidence
from heedful.battery.adversarial_attention import search_adversary
from heedful.battery.evidence import RANKINGS
from heedful.errors import SettingError
from heedful.explaining import counterfactuals
from heedful.explaining.explain import explain_read
from heedful.explaining.explanation import Explanation, Guidance
from heedful.models.trace import trace
from heedful.schema import TextOutcome
from heedful.settings import AuditSettings
from heedful.subjects.custom_model import CustomModel, CustomSubject
from heedful.subjects.read_text import DescribedText
from support.by_hand import Bag, batch_of, sigmoid
from support.evidence import KINDS, seeded
from support.four_verbs import FourVerbs
from support.models import cut, give_attention, make, make_batch

EXACT = [kind for kind in KINDS if kind != "not linear"]
ROUNDING = 1e-9
NAMELESS = DescribedText()
SETTINGS = AuditSettings()


@pytest.fixture
def quick(monkeypatch):
    """Few steps of search, where it matters that it is the same search and not how far it gets."""
    monkeypatch.setattr(counterfactuals, "search_adversary", partial(search_adversary, steps=20))


def explain(
    model, *batches, ranking="attention", labels=(), described=NAMELESS, task="classification", settings=SETTINGS
):
    subject = CustomSubject(model, CustomModel(labels=labels)).texts(batches, AuditSettings())
    subject = replace(subject, context=replace(subject.context, task=task))
    guidance = Guidance("ranking", ranking, ranking, "", "", "")
    return explain_read(subject, dict.fromkeys(subject.numbers, described), guidance, settings)


def bag(logits, weights, bias=0.0):
    """One text of words with these logits of class 1 and these weights, and a model that reads it so."""
    return Bag(torch.tensor(logits).double(), torch.tensor(weights).double().log(), bias), batch_of(1, len(logits))


def model_and_batch(kind):
    choice = KINDS[kind]
    batch = make_batch(choice.get("has_query", False))
    return make(**choice), give_attention(batch, False) if choice.get("attention") == "frozen" else batch


@torch.no_grad()
def evidence_on(model, batch, context=Context()) -> Evidence:  # noqa: B008 (frozen)
    return Evidence(model, trace(model, batch), context)


def decoded(evidence, row, weights):
    """What the model predicts for one text under these weights of its items."""
    attention = evidence.attention.clone()
    attention[row] = 0.0
    attention[row, evidence.items[row]] = torch.tensor(weights).double()
    return evidence.decode(attention).softmax(-1)[row]


def without(explanation: Explanation) -> list[float]:
    """The attention that is left when the smallest set is erased."""
    assert explanation.smallest_set is not None
    left = torch.tensor(explanation.attention)
    left[list(explanation.smallest_set.positions)] = 0.0
    return (left / left.sum()).tolist()


def numbers(explanation: Explanation) -> list[float]:
    smallest, other = explanation.smallest_set, explanation.other_attention
    values = [*explanation.probabilities.values(), *explanation.attention, *explanation.weights]
    values += [*smallest.positions, smallest.probability] if smallest else []
    return values + ([*other.weights, other.js, other.share, other.probability] if other else [])


def test_a_text_of_three_words_by_hand():
    """The logit is 4/2 + 3/4 - 2/4 = 2.25; without the first word it is 1/2, without the first two -2."""
    model, batch = bag([4.0, 3.0, -2.0], [0.5, 0.25, 0.25])
    (made,) = explain(model, batch, labels=("no", "yes"), ranking="attention_x_gradient")
    slope = sigmoid(2.25) * (1 - sigmoid(2.25))
    assert made.predicted == "yes" and made.probability == pytest.approx(sigmoid(2.25))
    assert made.probabilities == pytest.approx({"no": sigmoid(-2.25), "yes": sigmoid(2.25)})
    assert made.attention == pytest.approx((0.5, 0.25, 0.25))
    assert made.weights == pytest.approx((2 * slope, 0.75 * slope, -0.5 * slope)) and made.is_signed
    assert made.smallest_set is not None and made.solver == "exact"
    assert made.smallest_set.positions == (0, 1) and made.smallest_set.becomes == "no"
    assert made.smallest_set.probability == pytest.approx(sigmoid(2.0))
    assert made.items == ("item 1", "item 2", "item 3") and made.item == "item" and made.notes == ()


def test_leaving_a_word_out_moves_the_answer_by_hand():
    model, batch = bag([4.0, 3.0, -2.0], [0.5, 0.25, 0.25])
    (made,) = explain(model, batch, ranking="leave_one_out")
    left = [0.5, (2 - 0.5) / 0.75, (2 + 0.75) / 0.75]
    assert made.weights == pytest.approx([sigmoid(2.25) - sigmoid(logit) for logit in left])
    assert made.is_signed


def test_the_most_different_attention_is_the_furthest_on_a_grid():
    model, batch = bag([4.0, 3.0, -2.0], [0.5, 0.25, 0.25])
    (made,) = explain(model, batch)
    other = made.other_attention
    assert other is not None and (other.eps, other.solver, other.predicted) == (0.01, "exact", "1")
    assert abs(other.probability - made.probability) <= 0.01 + ROUNDING
    assert other.js == pytest.approx(jensenshannon(made.attention, other.weights) ** 2)
    furthest = jensenshannon(made.attention, (0.0, 0.0, 1.0)) ** 2
    assert other.share == pytest.approx(other.js / furthest)
    grid = [(i / 100, j / 100, (100 - i - j) / 100) for i in range(101) for j in range(101 - i)]
    same = [w for w in grid if abs(sigmoid(4 * w[0] + 3 * w[1] - 2 * w[2]) - made.probability) <= 0.01]
    assert 0 < max(jensenshannon(made.attention, w) ** 2 for w in same) <= other.js + ROUNDING


def test_a_decision_closer_than_eps_may_be_tipped():
    """All weight on the second word gives the other answer, .5050, which is within .01 of the decision's .5030."""
    model, batch = bag([0.02, -0.02, 0.0], [0.7, 0.1, 0.2])
    (made,) = explain(model, batch, labels=("no", "yes"))
    other = made.other_attention
    assert made.predicted == "yes" and made.probability == pytest.approx(sigmoid(0.012))
    assert other is not None and other.weights == pytest.approx((0.0, 1.0, 0.0)) and other.share == pytest.approx(1)
    assert other.predicted == "no" and other.probability == pytest.approx(sigmoid(-0.02))


def test_probabilities_and_weights_are_distributions(quick):
    for kind in KINDS:
        model, batch = model_and_batch(kind)
        for made in explain(model, batch):
            assert sum(made.probabilities.values()) == pytest.approx(1)
            assert made.predicted == max(made.probabilities, key=lambda label: made.probabilities[label])
            assert sum(made.attention) == pytest.approx(1) and len(made.attention) == len(made.items)
            if made.other_attention is not None:
                assert sum(made.other_attention.weights) == pytest.approx(1)
                assert min(made.other_attention.weights) >= 0 and 0 < made.other_attention.share <= 1 + ROUNDING


def test_what_is_told_holds_when_it_is_decoded():
    for kind in KINDS:
        model, batch = model_and_batch(kind)
        evidence = evidence_on(model, batch)
        labels = [str(number) for number in range(evidence.probabilities.shape[1])]
        for row, made in enumerate(explain(model, batch)):
            if made.smallest_set is not None:
                after = decoded(evidence, row, without(made))
                assert labels[int(after.argmax())] == made.smallest_set.becomes != made.predicted
                assert after.max().item() == pytest.approx(made.smallest_set.probability)
            if made.other_attention is not None:
                after = decoded(evidence, row, made.other_attention.weights)
                moved = (after - evidence.probabilities[row]).abs().sum().item() / 2
                assert moved <= made.other_attention.eps + 1e-6
                assert made.other_attention.js == pytest.approx(
                    jensenshannon(made.attention, made.other_attention.weights) ** 2, abs=1e-9
                )
                assert after[labels.index(made.predicted)].item() == pytest.approx(made.other_attention.probability)
                assert labels[int(after.argmax())] == made.other_attention.predicted


@torch.no_grad()
def test_the_numbers_are_those_of_the_battery():
    for kind in EXACT:
        model, batch = model_and_batch(kind)
        evidence = evidence_on(model, batch)
        js, erased = (
            BATTERY[test].function(evidence, seeded()).values[measure].tolist()
            for test, measure in (("adversarial_attention", "js"), ("erase_until_flip", "fraction_minimal"))
        )
        for row, made in enumerate(explain(model, batch)):
            other, smallest = made.other_attention, made.smallest_set
            assert [other.js if other else torch.nan] == pytest.approx([js[row]], nan_ok=True)
            share = len(smallest.positions) / len(made.items) if smallest else torch.nan
            assert [share] == pytest.approx([erased[row]], nan_ok=True)


def test_the_ranking_is_that_of_the_battery(quick):
    for ranking in ["attention_x_gradient", "gradient_x_input", "leave_one_out"]:
        for kind in ["recurrent", "sentences", "not linear"]:
            model, batch = model_and_batch(kind)
            evidence = evidence_on(model, batch)
            for row, made in enumerate(explain(model, batch, ranking=ranking)):
                wanted = RANKINGS[ranking](evidence)[row, evidence.items[row]].tolist()
                assert made.weights == pytest.approx(wanted, nan_ok=True) and made.ranking == ranking


def test_no_smaller_set_changes_an_exact_decision():
    model, batch = make("bilstm"), make_batch()
    evidence = evidence_on(model, batch)
    for row, made in enumerate(explain(model, batch)):
        size = len(made.smallest_set.positions) if made.smallest_set else len(made.items)
        for count in range(1, size):
            for places in combinations(range(len(made.items)), count):
                left = [0.0 if place in places else weight for place, weight in enumerate(made.attention)]
                after = decoded(evidence, row, [weight / sum(left) for weight in left])
                assert str(int(after.argmax())) == made.predicted


def test_a_searched_set_needs_each_of_its_items_and_is_no_smaller_than_the_exact_one(quick):
    drawn = torch.randn(2, 5 * 7, generator=seeded(3), dtype=torch.float64)
    model, batch = Bag(3 * drawn[0], drawn[1], 0.2), batch_of(5, 7)
    evidence = evidence_on(model, batch)
    pairs = list(zip(explain(FourVerbs(model), batch), explain(model, batch), strict=True))
    assert sum(exact.smallest_set is not None for _, exact in pairs) > 2
    for row, (searched, exact) in enumerate(pairs):
        assert searched.solver == "search" and exact.solver == "exact"
        assert (searched.smallest_set is None) == (exact.smallest_set is None)
        positions = searched.smallest_set.positions if searched.smallest_set else ()
        assert len(positions) >= len(exact.smallest_set.positions if exact.smallest_set else ())
        for kept in positions:
            fewer = {place for place in positions if place != kept}
            left = [0.0 if place in fewer else weight for place, weight in enumerate(searched.attention)]
            after = decoded(evidence, row, [weight / sum(left) for weight in left])
            assert str(int(after.argmax())) == searched.predicted


def test_what_is_searched_is_not_further_than_what_is_possible():
    model, batch = bag([4.0, 3.0, -2.0], [0.5, 0.25, 0.25])
    searched, exact = (explain(kind, batch)[0].other_attention for kind in (FourVerbs(model), model))
    assert searched is not None and exact is not None
    assert (searched.solver, exact.solver) == ("search", "exact")
    assert 0 < searched.js <= exact.js + 1e-6 and searched.share <= exact.share


def test_of_three_classes_a_bound_is_told():
    other = explain(make("average", classes=3), make_batch())[0].other_attention
    assert other is not None and other.solver == "bound"


def test_padding_order_and_neighbours_change_nothing(quick):
    for kind in [kind for kind in KINDS if kind != "frozen"]:
        model, batch = model_and_batch(kind)
        together = explain(model, batch)
        backwards = explain(model, cut(batch, [2, 1, 0], 7))[::-1]
        alone = [explain(model, cut(batch, [row], time))[0] for row, time in enumerate((7, 4, 1))]
        for made, reordered, single in zip(together, backwards, alone, strict=True):
            assert numbers(reordered) == pytest.approx(numbers(made), abs=1e-6)
            assert numbers(single) == pytest.approx(numbers(made), abs=1e-6)


def test_words_that_are_alike_are_erased_in_the_order_of_the_text(quick):
    """Ties are not broken at random: neighbours would change what is told."""
    model, batch = bag([2.0, 2.0, 2.0, 2.0, -3.0], [0.2] * 5)
    (made,) = explain(FourVerbs(model), batch)
    assert made.smallest_set is not None and made.smallest_set.positions == (0, 1, 2)


def test_explanations_come_in_the_order_of_the_texts():
    batches = [cut(make_batch(), [2], 7), cut(make_batch(), [0, 1], 7)]
    assert [len(made.items) for made in explain(make(), *batches)] == [1, 7, 4]


def test_a_single_item_has_no_choice():
    made = explain(make(), make_batch(), ranking="leave_one_out", described=DescribedText(item="word"))[2]
    assert made.attention == (1.0,) and made.weights == pytest.approx((torch.nan,), nan_ok=True)
    assert made.smallest_set is None and made.other_attention is None and made.notes == ()
    assert (made.outcome.outcome, made.outcome.reason) == (None, "one word") and made.shown_outcome == made.outcome


def test_a_decision_that_nothing_changes_has_no_smallest_set(quick):
    model, batch = bag([1.0, 2.0, 3.0], [0.5, 0.25, 0.25])
    for kind in (model, FourVerbs(model)):
        assert explain(kind, batch)[0].smallest_set is None


def test_question_answering_has_the_wider_eps_of_the_papers():
    model, batch = bag([4.0, 3.0, -2.0], [0.5, 0.25, 0.25])
    (made,) = explain(model, batch, task="qa")
    assert made.other_attention is not None and made.other_attention.eps == 0.05


def test_the_model_is_left_as_it_was():
    model = make("bilstm").float().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    explain(model, make_batch())
    assert model.training and all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_labels_must_name_each_class():
    for labels in [("a",), ("a", "b", "c"), ("a", "a")]:
        model, batch = bag([4.0, -2.0], [0.5, 0.5])
        with pytest.raises(
            SettingError, match="labels must name each of the model's 2 classes, each differently; they "
        ):
            explain(model, batch, labels=labels)


def test_words_must_name_each_item():
    model, batch = bag([4.0, -2.0], [0.5, 0.5])
    assert explain(model, batch, described=DescribedText(labels=("a", "b")))[0].items == ("a", "b")
    with pytest.raises(SettingError, match="text 0 has 2 items, and `words` has 3 for it"):
        explain(model, batch, described=DescribedText(labels=("a", "b", "c")))


def test_a_method_that_the_audit_advised_is_computed_alike_whatever_texts_are_beside():
    for name in ["gradient_x_input", "smoothgrad"]:
        model, batch = make("bilstm"), make_batch()
        together = explain(model, batch, ranking=name)
        assert all(own.is_signed and len(own.weights) == len(own.items) for own in together)
        if name == "gradient_x_input":  # nothing is drawn
            alone = explain(model, cut(batch, [1], 4), ranking=name)
            assert alone[0].weights == pytest.approx(together[1].weights, abs=ROUNDING)
        assert [own.weights for own in explain(model, batch, ranking=name)] == [own.weights for own in together]


@torch.no_grad()
def test_outcomes_are_those_of_an_audit(quick):
    for kind in [kind for kind in KINDS if kind != "frozen"]:
        model, batch = model_and_batch(kind)
        subject = CustomSubject(model).texts([batch], AuditSettings())
        rows = Judge(subject, SETTINGS, replaced=()).rows(evidence_on(model, batch, subject.context))
        for ranking in ("attention", "weight_gradient", "leave_one_out", "alone", "effect"):
            for number, made in zip(subject.numbers, explain(model, batch, ranking=ranking), strict=True):
                for name, outcome in (("attention", made.outcome), (ranking, made.shown_outcome)):
                    known = {"ranking": name} if made.outcome.outcome else {}
                    own = rows.filter(example=number, **known)
                    assert outcome == TextOutcome.model_validate(own.row(0, named=True))


def test_scores_of_single_words_are_what_the_model_predicts_of_them(quick):
    for kind in ["recurrent", "sentences", "not linear"]:
        model, batch = model_and_batch(kind)
        rankings = ("leave_one_out", "alone", "effect")
        for without, alone, effect in zip(*(explain(model, batch, ranking=name) for name in rankings), strict=True):
            if without.outcome.outcome is not None:
                removed = [without.probability - score for score in without.weights]
                both = [(2 * kept + 1 - left) / 3 for kept, left in zip(alone.weights, removed, strict=True)]
                assert list(effect.weights) == pytest.approx(both, abs=1e-6)
                assert all(0 <= kept <= 1 for kept in alone.weights)


def test_the_settings_of_the_audit_decide_how_many_words_count_as_shown():
    model, batch = model_and_batch("recurrent")
    few, many = (
        explain(model, batch, settings=AuditSettings.model_validate({"outcome": {"least": least, "most": 5}}))[0]
        for least in (1, 3)
    )
    assert [len(made.outcome.top_words) for made in (few, many)] == [1, 3]
