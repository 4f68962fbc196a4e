"""SEAT against brute force: corners of balls, linear programs, fine ascent; and through the loop."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch.nn.functional import softplus

from heedful.attacks import Ball, ascend, draw
from heedful.data.batching import encode_split
from heedful.errors import SettingError
from heedful.exact import Norm
from heedful.measures import top_k_overlap
from heedful.models.trace import rerun, trace
from heedful.training.loop import train
from heedful.training.methods import METHODS
from heedful.training.methods.method import Step
from heedful.training.methods.seat import WORST_CASES, searched_move, seat, seat_code, top_k_gap, worst_move
from heedful.training.methods.word_at import word_at
from heedful.training.metrics import outputs
from heedful.training.start import build_start
from heedful.types import Reference
from support import reference_methods as reference
from support.four_verbs import FourVerbs
from support.models import make, make_batch
from support.reference_methods import label_loss, read, texts, worst_embedding
from support.reference_methods import top_k_gap as expected_gap
from support.runs import changed, toy, weights

NORMS: list[Norm] = ["l1", "l2", "linf"]
NOTHING = torch.Generator()


def scaled(scale: float = 3.0, **kind):
    """A model whose items disagree, so that perturbed weights move its prediction."""
    model = make(**kind)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(scale)
    return model


def reference_for(batch, **kind) -> Reference:
    with torch.no_grad():
        seen = trace(scaled(1.5, **kind), batch)
    return Reference(seen.attention, seen.logits)


def corners(norm: str, count: int, radius: float) -> torch.Tensor:
    """The corners of a ball; a convex function is largest at one of them."""
    if norm == "linf":
        return radius * torch.tensor(list(product((-1.0, 1.0), repeat=count))).double()
    return radius * torch.cat([torch.eye(count), -torch.eye(count)]).double()


def worst_by_corners(model, text, encoded, attention, norm: str, radius: float) -> torch.Tensor:
    base = model.decode(encoded, attention)
    moves = [
        reference.divergence(base, model.decode(encoded, attention + corner))
        for corner in corners(norm, attention.shape[1], radius)
    ]
    return torch.stack(moves).max()


@pytest.mark.parametrize("kind", [{"encoder": "average"}, {"encoder": "bilstm"}, {"encoder": "rnn"}])
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_loss_is_three_terms(kind, norm):
    model, batch = scaled(**kind), make_batch()
    base = reference_for(batch, **kind)
    options: dict[str, Any] = {"lambda1": 0.7, "lambda2": 20.0, "k": 2, "radius": 0.2, "norm": norm}
    losses = seat(Step(model, trace(model, batch), base, NOTHING), **options)
    for row, length, text in reference.texts(batch):
        encoded, _, attention, logits = reference.read(model, model.embed(text), text)
        wanted = reference.divergence(base.logits[row], logits)
        wanted = wanted + 0.7 * worst_by_corners(model, text, encoded, attention, norm, 0.2)
        wanted = wanted + 20 * reference.top_k_gap(attention, base.attention[row, :length], 2)
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_with_the_cross_entropy_of_the_paper_confidence_is_rewarded_too():
    model, batch = scaled(), make_batch()
    seen, base = trace(model, batch), reference_for(batch)
    kl, bce = (seat(Step(model, seen, base, NOTHING), lambda1=0.7, divergence=name) for name in ("kl", "bce"))
    entropy = torch.distributions.Categorical(logits=seen.logits).entropy()
    torch.testing.assert_close(bce - kl, 0.7 * entropy, atol=1e-10, rtol=0)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_for_more_classes_the_search_comes_near_the_worst_corner_and_never_beyond(norm):
    model, batch = scaled(classes=5), make_batch()
    divergences = searched_move(model, trace(model, batch), 0.2, norm, "free", 10)
    for row, _, text in reference.texts(batch):
        encoded, _, attention, _ = reference.read(model, model.embed(text), text)
        worst = worst_by_corners(model, text, encoded, attention, norm, 0.2)
        # One start: of 300 random texts the mean was 0.89 to 0.97 of the worst, the least 0.16.
        assert 0.5 * worst <= divergences[row] <= worst * (1 + 1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_no_random_perturbation_of_another_head_beats_the_search(norm):
    model, batch = scaled(head="tanh"), make_batch()
    seen = trace(model, batch)
    divergences = searched_move(model, seen, 0.3, norm, "free", 10)
    draw = torch.Generator().manual_seed(0)
    for _ in range(300):
        noise = torch.randn(seen.attention.shape, generator=draw, dtype=torch.float64) * batch.mask
        order = {"l1": 1, "l2": 2, "linf": torch.inf}[norm]
        noise = 0.3 * noise / torch.linalg.vector_norm(noise, order, dim=-1, keepdim=True)
        logits = model.decode(seen.encoded, seen.attention + noise)
        for row in range(len(divergences)):
            assert reference.divergence(seen.logits[row], logits[row]) <= divergences[row] * (1 + 1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kept", WORST_CASES)
def test_the_search_stays_within_what_the_weights_may_be(kept, norm):
    """Were it to leave the set, it would do more than the closed form says can be done there."""
    model, batch = scaled(), make_batch()
    seen = trace(model, batch)
    for radius in (0.3, 2.0):
        exact = worst_move(model, seen, radius, norm, kept)
        searched = searched_move(FourVerbs(model), seen, radius, norm, kept, 10)
        assert (searched <= exact * (1 + 1e-7) + 1e-12).all() and (searched[:2] > 0).all()


@pytest.mark.parametrize("norm", NORMS)
def test_fine_ascent_from_anywhere_reaches_the_closed_form_and_never_more(norm):
    model, batch = scaled(), make_batch()
    seen, ball = trace(model, batch), Ball(0.3, norm)
    exact, generator = worst_move(model, seen, 0.3, norm, "free"), torch.Generator().manual_seed(0)

    def moved(change):
        logits = model.decode(seen.encoded, seen.attention + change)
        return torch.stack(
            [reference.divergence(base, perturbed) for base, perturbed in zip(seen.logits, logits, strict=True)]
        )

    ends = []
    for _ in range(4):
        change = draw(batch.mask, ball, generator, torch.float64)
        for _ in range(3):
            change = ascend(moved, change, batch.mask, ball, steps=30)
        ends.append(moved(change))
    reached = torch.stack(ends)
    assert (reached <= exact * (1 + 1e-9)).all()
    torch.testing.assert_close(reached.amax(0), exact, atol=1e-10, rtol=1e-2)


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("radius", [0.05, 0.4, 2.0])
def test_on_the_simplex_the_closed_form_is_the_better_of_two_linear_programs(norm, radius):
    model, batch = scaled(), make_batch()
    seen = trace(model, batch)
    divergences = worst_move(model, seen, radius, norm, "simplex")
    for row, length, _ in reference.texts(batch):
        margin = (model.item_logits(seen.encoded)[row, :length] @ torch.tensor([-1.0, 1.0]).double()).detach()
        weight = seen.attention[row, :length].detach()
        base = float(weight @ margin)
        ends = [base + way * program(way * margin.numpy(), weight.numpy(), radius, norm) for way in (1, -1)]
        p = torch.tensor(base).double().sigmoid()
        losses = [softplus(end) - p * end for end in torch.tensor([base, *ends]).double()]
        torch.testing.assert_close(divergences[row], max(losses[1:]) - losses[0], atol=1e-9, rtol=1e-7)


def program(gain: np.ndarray, weight: np.ndarray, radius: float, norm: str) -> float:
    """The most that a change = up - down of the weights adds, on the simplex and in the ball."""
    n = len(gain)
    reach = radius if norm == "linf" else 2.0
    bounds = [(0, reach)] * n + [(0, min(reach, w)) for w in weight]
    total = np.ones((1, 2 * n)) if norm == "l1" else None
    balance = np.concatenate([np.ones(n), -np.ones(n)])[None]
    done = linprog(np.concatenate([-gain, gain]), total, [radius] if norm == "l1" else None, balance, [0.0], bounds)
    return -float(done.fun)


def test_the_gap_is_0_on_itself_and_sees_only_the_top():
    a, b = torch.tensor([[0.5, 0.3, 0.2, 0.0]]), torch.tensor([[0.5, 0.3, 0.0, 0.2]])
    items = torch.ones(1, 4).bool()
    assert top_k_gap(a, a, items, 2) == 0 == top_k_gap(a, b, items, 2)
    assert top_k_overlap(a, b, items, 2) == 1
    other = torch.tensor([[0.1, 0.6, 0.3, 0.0]])
    for pair in ((a, other), (other, a)):  # item 0 is the top of one, item 1 of the other
        torch.testing.assert_close(top_k_gap(*pair, items, 1), torch.tensor([(0.4 + 0.3) / 2]))
    torch.testing.assert_close(top_k_gap(a, b, items, 3), torch.tensor([0.4 / 6]))
    torch.testing.assert_close(top_k_gap(a, b, items, 7), torch.tensor([2 * 0.4 / 14]))


@pytest.mark.parametrize(("options", "message"), [
    ({"norm": "l3"}, "unknown norm 'l3'"),
    ({"weights": "round"}, "unknown weights 'round'"),
    ({"radius": -1.0}, "radius must be 0 or more; it was -1.0"),
])  # fmt: skip
def test_settings_that_mean_nothing_are_refused(options, message):
    model, batch = make(), make_batch()
    with pytest.raises(SettingError, match=message):
        seat(Step(model, trace(model, batch), reference_for(batch), NOTHING), **options)


def test_seat_trains_attention_alone_from_the_references_weights_and_seat_all_trains_everything():
    base = train(changed(network__encoder="bilstm", training__epochs=2), toy())
    before = {name: weight.clone() for name, weight in weights(base).items()}
    options: dict[str, Any] = {"k": 2, "radius": 0.1}
    runs = {
        name: train(
            changed(training__method=name, training__options=options, training__epochs=1), toy(), reference=base
        )
        for name in ("seat", "seat_all")
    }
    for name, weight in weights(base).items():
        assert torch.equal(weight, before[name]), "the reference run itself must stay as it is"
        assert torch.equal(weights(runs["seat"])[name], weight) == (not name.startswith("attention."))
    start = build_start(
        changed(network__encoder="bilstm", training__method="seat_fresh"), toy(), METHODS["seat_fresh"], base, NOTHING
    )
    same = {name: torch.equal(own, before[name]) for name, own in start.model.state_dict().items()}
    assert not any(kept for name, kept in same.items() if name.startswith("attention.") and before[name].any())
    assert all(kept for name, kept in same.items() if not name.startswith("attention."))
    moved = [name for name, weight in before.items() if not torch.equal(weights(runs["seat_all"])[name], weight)]
    assert {name.partition(".")[0] for name in moved} == {"embedding", "encoder", "attention", "head"}


def test_the_epoch_is_chosen_by_the_method_s_loss_on_dev():
    base = train(changed(training__epochs=2), toy())
    run = changed(training__method="seat_fresh", training__epochs=4, training__learning_rate=0.1)
    trained = train(run, toy(), reference=base)
    losses = {r.epoch: r.value for r in trained.history if (r.split, r.measure) == ("dev", "loss")}
    assert len(losses) == 4 and trained.chosen_epoch == min(losses, key=lambda epoch: losses[epoch])


def test_the_surrogate_and_the_true_overlap_are_recorded_after_every_epoch():
    base = train(changed(training__epochs=2), toy())
    options: dict[str, Any] = {"k": 2, "lambda2": 0.0, "radius": 0.3}
    run = changed(training__method="seat", training__options=options, training__epochs=3, training__learning_rate=0.1)
    trained = train(run, toy(), reference=base)
    for split in ("train", "dev"):
        for measure in ("top_k_gap", "top_k_overlap"):
            assert [r.epoch for r in trained.history if (r.split, r.measure) == (split, measure)] == [1, 2, 3]
    dev = outputs(trained.model, encode_split(toy().dev, trained.words)).attention
    base_dev = outputs(base.model, encode_split(toy().dev, base.words)).attention
    gaps = [
        top_k_gap(a[None], b[None], torch.ones(1, len(a)).bool(), 2).item() for a, b in zip(dev, base_dev, strict=True)
    ]
    wanted = next(
        r.value for r in trained.history if (r.epoch, r.split, r.measure) == (trained.chosen_epoch, "dev", "top_k_gap")
    )
    assert 0 < wanted == pytest.approx(np.mean(gaps), rel=1e-5)


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize("encoder", ["average", "rnn", "bilstm"])
def test_the_loss_of_the_code_is_three_terms(encoder, clamp):
    model, batch = make(encoder), make_batch()
    seen = trace(model, batch)
    options: dict[str, Any] = {"radius": 0.3, "steps": 5, "lambda1": 0.7, "lambda2": 20.0, "k": 2}
    losses = seat_code(Step(model, seen, None, torch.Generator().manual_seed(0)), clamp=clamp, **options)
    movable = batch.mask.unsqueeze(-1).expand_as(seen.embedded)
    start = draw(movable, Ball(0.3, "linf"), torch.Generator().manual_seed(0), torch.float64)
    for row, length, text in texts(batch):
        _, _, attention, logits = read(model, model.embed(text), text)
        worst = worst_embedding(model, text, start[row : row + 1, :length], 0.3, 5, clamp)
        _, _, moved, perturbed = read(model, worst, text)
        wanted = label_loss(logits, text.labels[0]) + 0.7 * label_loss(perturbed, text.labels[0])
        wanted = wanted + 20 * expected_gap(moved, attention, 2) / 2
        torch.testing.assert_close(losses[row], wanted, atol=1e-10, rtol=0)


def test_without_the_last_term_it_is_adversarial_training_on_words():
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    code = seat_code(Step(model, seen, None, torch.Generator().manual_seed(0)), lambda2=0.0)
    assert torch.equal(code, word_at(Step(model, seen, None, torch.Generator().manual_seed(0))))


def test_the_clamp_moves_embeddings_far_beyond_a_small_radius():
    """Negative coordinates are cut to 0, so even a radius of 0 is a perturbation, and a large one."""
    model, batch = make(), make_batch()
    seen = trace(model, batch)
    options: dict[str, Any] = {"radius": 0.0, "lambda1": 1.0, "lambda2": 0.0}
    plain = seat_code(Step(model, seen, None, torch.Generator()), **options)
    clamped = seat_code(Step(model, seen, None, torch.Generator()), clamp=True, **options)
    cut = seen.embedded.clamp(0, 1)
    worst = rerun(model, seen, cut - seen.embedded).logits
    wanted = torch.nn.functional.cross_entropy(worst, batch.labels, reduction="none")
    torch.testing.assert_close(clamped - plain / 2, wanted, atol=1e-12, rtol=0)
