import pytest
import torch

from battery.test_battery import evidence_of as of_kind
from battery.test_embedding_noise import draw, evidence_of
from heedful.battery.sensitivity import area, head_slopes, held_radius, sensitivity, smallest_flip
from heedful.model import trace
from test_model import make, make_batch


def flat(classes=2):
    """A model whose states are its embeddings and whose attention does not react: the paper's question is exact."""
    return evidence_of(make("identity", "uniform", classes=classes))


@pytest.mark.parametrize("classes", [2, 5])
def test_where_states_are_embeddings_and_attention_is_held_the_search_finds_the_exact_radius(classes):
    evidence = flat(classes)
    top = torch.zeros_like(evidence.items)
    top[:, [0, 2]] = True
    top &= evidence.items
    wanted = held_radius(evidence, head_slopes(evidence), top)
    found = smallest_flip(evidence.model, evidence.trace, top, probes=14, steps=10)
    assert (found >= wanted * (1 - 1e-9)).all()
    torch.testing.assert_close(found, wanted, rtol=2e-2, atol=0)


def test_the_exact_radius_by_hand():
    evidence = flat()
    model, u = evidence.model, evidence.trace.logits[:, 1]
    theta, weights = model.head.linear.weight[0].detach(), evidence.attention
    top = evidence.items.clone()
    top[:, 1:] = False
    wanted = u.abs() / (theta.norm() * weights[:, 0])
    torch.testing.assert_close(held_radius(evidence, head_slopes(evidence), top), wanted)


@pytest.mark.parametrize("kind", ["five classes", "query"])
def test_a_tenth_of_what_is_found_changes_no_decision_in_any_direction_tried(kind):
    evidence = of_kind(kind)
    words = evidence.trace.batch.attendable
    found = smallest_flip(evidence.model, evidence.trace, words, probes=8, steps=10)
    assert found[:2].isfinite().any()
    for seed in range(20):
        change = (
            torch.randn(evidence.trace.embedded.shape, generator=draw(seed), dtype=torch.float64) * words[..., None]
        )
        change = change / change.flatten(1).norm(dim=1)[:, None, None] * found.nan_to_num(0.1)[:, None, None] / 10
        model = evidence.model
        with torch.no_grad():
            encoded = model.encode(evidence.trace.embedded + change, evidence.trace.batch)
            logits = model.decode(encoded, model.attend(encoded, evidence.trace.batch)[1])
        assert torch.equal(logits.argmax(-1), evidence.predicted)


def test_more_words_need_no_larger_change():
    evidence = evidence_of(make())
    few = torch.zeros_like(evidence.items)
    few[:, 0] = True
    radii = [smallest_flip(evidence.model, evidence.trace, words, 7, 5) for words in (few, evidence.items)]
    assert (radii[1][:2].nan_to_num(0) <= 1.05 * radii[0][:2].nan_to_num(torch.inf)).all()


def test_words_that_are_not_in_the_rationale_do_not_move():
    evidence = flat()
    nothing = torch.zeros_like(evidence.items)
    assert smallest_flip(evidence.model, evidence.trace, nothing, probes=3, steps=2).isnan().all()


def test_every_ranking_and_size_has_its_radius_and_every_ranking_its_area():
    values = sensitivity(flat(), draw(), sizes=(1, 0.5), by=("attention", "random"), probes=4, steps=3).values
    assert {"radius_attention_1", "radius_random_50%", "auc_attention", "held_random_1", "held_auc_random"} <= set(
        values
    )
    both = torch.stack([values["radius_attention_1"], values["radius_attention_50%"]])
    assert (values["auc_attention"][:2] <= both.amax(0)[:2]).all()
    assert (values["auc_attention"][:2] >= both.amin(0)[:2]).all()


def test_a_head_that_is_not_ours_has_no_exact_form():
    values = sensitivity(of_kind("not linear"), draw(), sizes=(1,), by=("attention",), probes=2, steps=2).values
    assert values["held_attention_1"].isnan().all()


def test_one_size_has_its_height_for_an_area():
    assert area(torch.tensor([[3.0]]), torch.tensor([[0.5]])).tolist() == [3.0]


def test_the_gradient_of_no_parameter_is_touched():
    model = make()
    with torch.no_grad():
        smallest_flip(model, trace(model, make_batch()), make_batch().attendable, 2, 2)
    assert all(parameter.grad is None for parameter in model.parameters())
