import torch

from heedful.attacks import Ball, draw
from heedful.battery.embedding_attack import embedding_attack
from heedful.battery.evidence import Evidence
from heedful.battery.stability_measures import moves
from heedful.models.trace import rerun
from support.evidence import evidence_of
from support.models import make

SOME = 40


def test_the_attacks_find_worse_than_chance_does():
    evidence = evidence_of(make())
    values = embedding_attack(evidence, torch.Generator().manual_seed(0), radii=(0.3,)).values
    seen, ball = evidence.trace, Ball(0.3, "linf")
    movable = seen.batch.mask[..., None].expand_as(seen.embedded)
    for seed in range(SOME):
        change = draw(movable, ball, torch.Generator().manual_seed(seed), torch.float64)
        with torch.no_grad():
            by_chance = moves(evidence, rerun(evidence.model, seen, change))
        assert (by_chance["js"][:2] <= values["js_attention"][:2]).all()
        assert (by_chance["flips"][:2] <= values["flips_answer"][:2]).all()


def test_each_attack_does_most_to_what_it_aims_at():
    values = embedding_attack(evidence_of(make()), torch.Generator().manual_seed(0), radii=(0.3,)).values
    assert (values["js_attention"][:2] >= values["js_answer"][:2]).all()
    assert (values["flips_answer"][:2] >= values["flips_attention"][:2]).all()


def test_attention_that_reads_nothing_does_not_move():
    values = embedding_attack(evidence_of(make(attention="uniform")), torch.Generator().manual_seed(0)).values
    assert values["js_attention"][:2].tolist() == [0, 0]


def test_a_search_in_single_precision_finds_what_one_in_double_precision_does():
    evidence = evidence_of(make())
    single = embedding_attack(evidence, torch.Generator().manual_seed(0), radii=(0.3, 0.01)).values

    class InDoublePrecision:
        """The same model, not known as ours."""

        def __getattr__(self, name):
            return getattr(evidence.model, name)

    plain = Evidence(InDoublePrecision(), evidence.trace, generator=torch.Generator().manual_seed(0))
    double = embedding_attack(plain, torch.Generator().manual_seed(0), radii=(0.3, 0.01)).values
    for measure in ("js_attention", "tvd_answer", "js_attention_0.01", "tvd_answer_0.01"):
        torch.testing.assert_close(single[measure], double[measure], rtol=0.02, atol=1e-9, equal_nan=True)
    assert next(evidence.model.parameters()).dtype == torch.float64


def test_what_is_found_stays_in_the_ball(monkeypatch):
    seen = []
    monkeypatch.setattr("heedful.battery.embedding_attack.moves", lambda evidence, other: seen.append(other) or {})
    evidence = evidence_of(make())
    embedding_attack(evidence, torch.Generator().manual_seed(0), radii=(0.3,))
    assert all((other.embedded - evidence.trace.embedded).abs().max() <= 0.3 + 1e-15 for other in seen)
    assert {other.embedded.dtype for other in seen} == {torch.float64}


def test_the_clamp_of_the_published_code_cuts_negative_coordinates_however_small_the_radius(monkeypatch):
    seen = []
    monkeypatch.setattr("heedful.battery.embedding_attack.moves", lambda evidence, other: seen.append(other) or {})
    evidence = evidence_of(make())
    embedding_attack(evidence, torch.Generator().manual_seed(0), radii=(1e-6,), clamp=True)
    mask = evidence.trace.batch.mask[..., None]
    for other in seen:
        wanted = evidence.trace.embedded.clamp(0, 1).where(mask, evidence.trace.embedded)
        torch.testing.assert_close(other.embedded, wanted, rtol=0, atol=1e-5)
    assert len(seen) == 2
