from importlib import import_module

import pytest
import torch

from heedful.battery.comprehensiveness_sufficiency import top_items, top_sizes
from heedful.battery.sensitivity import (
    ChosenWords,
    head_slopes,
    held_radius,
    scale_back,
    sensitivity,
    smallest_flips,
    tighten,
)
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from support.evidence import evidence_of
from support.evidence import evidence_of_kind as of_kind
from support.evidence import seeded as draw
from support.four_verbs import FourVerbs
from support.models import LENGTHS, cut, give_attention, make, make_batch


def flat(classes=2):
    """A model whose states are its embeddings and whose attention does not react: the paper's question is exact."""
    return evidence_of(make("identity", "uniform", classes=classes))


def undecided(encoder="bilstm", attention="additive", **changes):
    """A model whose decisions a change of a few words can change: its logits are small."""
    model = make(encoder, attention, **changes)
    model.get_parameter("head.linear.bias").data -= evidence_of(model, imposed(encoder)).trace.logits[:, 1].mean()
    return model


def imposed(encoder):
    """The batch with attention to impose, where a model does that."""
    return give_attention(make_batch(), encoder == "hierarchical")


def flips(evidence, *words, probes=6, steps=4):
    """The radii of some choices of words, [batch choice]."""
    return smallest_flips(evidence.model, evidence.trace, torch.stack(words, 1), probes, steps)


@pytest.mark.parametrize("classes", [2, 5])
def test_where_states_are_embeddings_and_attention_is_held_the_search_finds_the_exact_radius(classes):
    evidence = flat(classes)
    top = torch.zeros_like(evidence.items)
    top[:, [0, 2]] = True
    top &= evidence.items
    wanted = held_radius(evidence, head_slopes(evidence), top)
    radii = flips(evidence, top)[:, 0]
    assert (radii >= wanted * (1 - 1e-9)).all()
    torch.testing.assert_close(radii, wanted, rtol=1e-2, atol=0)


def test_the_exact_radius_by_hand():
    evidence = flat()
    model, u = evidence.model, evidence.trace.logits[:, 1]
    assert isinstance(model, AttentionModel)
    theta, weights = model.get_parameter("head.linear.weight")[0].detach(), evidence.attention
    top = evidence.items.clone()
    top[:, 1:] = False
    wanted = u.abs() / (theta.norm() * weights[:, 0])
    torch.testing.assert_close(held_radius(evidence, head_slopes(evidence), top), wanted)


@pytest.mark.parametrize("row", [0, 1])
def test_no_direction_changes_the_decision_much_sooner(row):
    """Against all directions, which two dimensions allow: circles of them, up to a little beyond what was found."""
    evidence = evidence_of(undecided(embed_size=2, hidden_size=3), cut(make_batch(), [row], int(LENGTHS[row])))
    model = evidence.model
    words = torch.arange(int(LENGTHS[row])) == 1
    radius = flips(evidence, words[None]).item()
    angle = torch.arange(0, 2 * torch.pi, torch.pi / 90, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()], 1)[:, None] * words[:, None]
    many = cut(evidence.trace.batch, [0] * len(circle), len(words))
    changes = []
    for share in (0.3, 0.7, 0.97, 1.03):
        with torch.no_grad():
            encoded = model.encode(evidence.trace.embedded + share * radius * circle, many)
            decided = model.decode(encoded, model.attend(encoded, many)[1]).argmax(-1)
        changes.append((decided != evidence.predicted).any().item())
    assert changes == [False, False, False, True]


class Noting(FourVerbs):
    """Notes all embeddings that it reads, and what it decides of them."""

    def __init__(self, model):
        super().__init__(model)
        self.noted = []

    def encode(self, embedded, batch):
        encoded = self.model.encode(embedded, batch)
        decided = self.model.decode(encoded, self.model.attend(encoded, batch)[1]).argmax(-1)
        self.noted.append((embedded.detach(), decided))
        return encoded


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_what_is_reported_is_a_change_of_these_words_that_was_seen_to_change_the_decision(encoder):
    model = Noting(undecided(encoder))
    seen = trace(model, cut(make_batch(), [0], 7))
    words = torch.tensor([[[False, True, True, False, False, True, False]]])
    radii = smallest_flips(model, seen, words, probes=6, steps=4)
    sizes = []
    for embedded, decided in model.noted:
        change = embedded - seen.embedded
        assert (change[:, ~words[0, 0]] == 0).all()
        sizes += change.flatten(1).norm(dim=1)[decided != seen.logits.argmax(-1)].tolist()
    assert any(radii.item() == pytest.approx(size, rel=1e-12) for size in sizes)


@pytest.mark.parametrize(("encoder", "attention"), [("bilstm", "additive"), ("hierarchical", "frozen")])
def test_every_choice_of_words_is_searched_as_if_alone(encoder, attention, monkeypatch):
    """However many are searched at once, and though the longest text may be done with first."""
    evidence = evidence_of(undecided(encoder, attention), imposed(encoder))
    mask = evidence.trace.batch.mask
    single = torch.arange(7).expand(3, 7) == torch.tensor([[5], [3], [0]])
    together = flips(evidence, single, mask, mask & ~single)
    assert together[:2, 1:].isfinite().all()
    monkeypatch.setattr(import_module("heedful.battery.sensitivity"), "TOKENS", 1)
    torch.testing.assert_close(
        flips(evidence, single, mask, mask & ~single), together, rtol=1e-9, atol=0, equal_nan=True
    )


def test_a_change_in_a_poor_direction_is_turned_and_shortened():
    evidence = flat()
    words = evidence.items
    wanted = held_radius(evidence, head_slopes(evidence), words)
    noise = torch.randn(evidence.trace.embedded.shape, generator=draw(), dtype=torch.float64) * words[..., None]
    margin = evidence.trace.logits[:, 1].abs()
    chosen = ChosenWords(evidence.model, evidence.trace, torch.arange(3), words)
    with torch.no_grad():
        poor = 9 * noise * (chosen.lead(noise) + margin).sign()[:, None, None]
        assert (chosen.lead(poor) > 0).tolist() == [True, False, True]
        once, shortest = (tighten(chosen, poor, margin, probes, 4) for probes in (1, 9))
    assert (once[[0, 2]] > 1.1 * wanted[[0, 2]]).all() and once[1].isnan() and shortest[1].isnan()
    torch.testing.assert_close(shortest[[0, 2]], wanted[[0, 2]], rtol=0.03, atol=0)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 5.0])
def test_a_change_is_scaled_back_to_near_where_the_decision_changes(power):
    """However the lead gets there; it does so at a fifth, at half and at nine tenths of the change, and beyond it."""
    change = torch.tensor([[3.0, 4.0], [0.0, 2.0], [1.0, 0.4843], [0.5, 0.0]], dtype=torch.float64)
    untouched = change.clone()

    def lead(change):
        return change.norm(dim=1) ** power - 1

    factor = scale_back(lead, change, torch.ones(4, dtype=torch.float64))
    assert factor[3].isnan() and torch.equal(change, untouched)
    assert (lead(change * factor[:, None])[:3] > 0).all()
    torch.testing.assert_close(factor[:3], torch.tensor([0.2, 0.5, 0.9]).double(), rtol=0.3, atol=0)


def test_every_ranking_and_size_has_its_radius_and_every_ranking_its_area():
    values = sensitivity(flat(), draw(), sizes=(1.0, 0.5), by=("attention", "random"), probes=4, steps=3).values
    assert {"radius_attention_1", "radius_random_50%", "auc_attention", "held_random_1", "held_auc_random"} <= set(
        values
    )
    both = torch.stack([values["radius_attention_1"], values["radius_attention_50%"]])
    assert (values["auc_attention"][:2] <= both.amax(0)[:2]).all()
    assert (values["auc_attention"][:2] >= both.amin(0)[:2]).all()


def test_each_radius_is_that_of_its_own_ranking_and_size():
    evidence = evidence_of(make("identity", "frozen"), imposed("identity"))
    values = sensitivity(evidence, draw(), sizes=(1.0, 0.5)).values
    for name in ("attention", "leave_one_out"):
        tops = top_items(evidence.ranking(name), evidence.items, top_sizes(evidence.count, (1, 0.5))).unbind(1)
        for size, top, radius in zip(("1", "50%"), tops, flips(evidence, *tops).unbind(1), strict=True):
            held = held_radius(evidence, head_slopes(evidence), top)
            torch.testing.assert_close(values[f"radius_{name}_{size}"][:2], radius[:2], rtol=1e-9, atol=0)
            torch.testing.assert_close(values[f"held_{name}_{size}"][:2], held[:2])


def test_a_head_that_is_not_ours_has_no_exact_form():
    values = sensitivity(of_kind("not linear"), draw(), sizes=(1.0,), by=("attention",), probes=2, steps=2).values
    assert values["held_attention_1"].isnan().all()
