"""Numbers of tables, and the rule by which claims are judged."""

from dataclasses import replace
from math import isnan

import pytest
import torch
from scipy import stats

from heedful.measures import Estimate
from heedful.papers import claim_rule
from heedful.papers.claim_rule import (
    FEWEST_TRAININGS,
    Part,
    claim_bounds_text,
    claim_details,
    claim_number,
    claim_parts,
    claim_unit,
    summary_sentence,
)
from heedful.papers.reproduction import Cell, OldClaim
from support.runs import RUN
from support.synthetic_results import described, known, made_cell, share

# Claims in words.

NUMBER = Estimate(0.1234, 0.1, 0.15, 100)


def with_verdicts(claim, *verdicts):
    return [replace(claim, id=f"claim_{place}", verdict=verdict) for place, verdict in enumerate(verdicts)]


def test_the_summary_counts_every_verdict(claim):
    several = with_verdicts(claim, "contradicted", "confirmed", "not confirmed", "confirmed", "not confirmed")
    assert summary_sentence(several) == "Of 5 claims, 2 are confirmed, 2 not confirmed, 1 contradicted."
    untested = [*several, *with_verdicts(claim, "not tested")]
    assert summary_sentence(untested) == "Of 6 claims, 2 are confirmed, 2 not confirmed, 1 contradicted (1 not tested)."
    single = with_verdicts(claim, "confirmed")
    assert summary_sentence(single) == "Of 1 claim, 1 is confirmed, 0 not confirmed, 0 contradicted."


UNITS = {
    "nats": ("0.123 (0.100 to 0.150) nats", "confirmed above 0.150, contradicted below 0.050"),
    "AtteFa": ("0.123 (0.100 to 0.150) in AtteFa", "confirmed above 0.150, contradicted below 0.050"),
    "share of texts": ("12.3 % (10.0 to 15.0 %) of texts", "confirmed above 15.0 %, contradicted below 5.0 %"),
    "accuracy": ("12.3 (10.0 to 15.0) percentage points of accuracy", "confirmed above 15.0, contradicted below 5.0"),
}


def test_a_claim_s_number_and_its_parts_are_in_its_own_unit(claim):
    assert claim_number(claim) == "not measured"
    for unit, texts in UNITS.items():
        tested = replace(claim, unit=unit, pooled=NUMBER)
        assert (claim_number(tested), claim_bounds_text(tested)) == texts
    tested = replace(claim, parts={"sst2": NUMBER, "snli": NUMBER}, excepts=("snli",))
    shares = replace(tested, unit="fraction of a text's items")
    assert claim_parts(shares)[0] == ("sst2", "12.3 % (10.0 to 15.0 %)")
    assert claim_parts(tested)[1] == ("snli (excepted by the paper)", "0.123 (0.100 to 0.150)")
    assert claim_unit(replace(tested, unit="accuracy")) == "percentage points of accuracy"


def test_details_say_what_the_verdict_rests_on_and_leave_out_what_does_not_apply(claim):
    number = Estimate(0.12, 0.1, 0.14, 100)
    tested = replace(claim, quote="", pooled=number, trainings=7, exceptions=("c",), left_out=("d", "e"))
    tested = replace(tested, unadjusted="confirmed", verdict="not confirmed")
    assert claim_details(tested) == (
        "Measured: x - y; confirmed above 0.150, contradicted below 0.050. Source: section 1. Trained models: 7. "
        "Exceptions: c. Left out, for they have not learnt their task: d; e. By itself, without allowing for the other "
        "claims, it would be confirmed. If there is a difference, it is surely too small to matter."
    )
    tested = replace(claim, pooled=NUMBER, trainings=5, unadjusted="confirmed", verdict="confirmed")
    assert claim_details(tested) == (
        "Measured: x - y; confirmed above 0.150, contradicted below 0.050. "
        'The paper, section 1: "so it is". Trained models: 5.'
    )
    few = claim_details(replace(claim, trainings=FEWEST_TRAININGS - 1))
    assert few.endswith("Trained models: 4, too few to test the claim (5 are needed).")
    for low, high, is_small in ((0.06, 0.14, True), (0.04, 0.14, False), (0.06, 0.16, False)):
        tested = replace(claim, pooled=Estimate(0.1, low, high, 9), verdict="not confirmed")
        assert ("too small to matter" in claim_details(tested)) == is_small


MARGIN = 0.05
CLAIM = OldClaim("something", "Something is so.", "it is so", "section 1", "a number", "units", MARGIN)


def near(mean, texts=200, seeds=5, spread=0.1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return mean + spread * torch.randn(seeds, texts, generator=generator, dtype=torch.float64)


def parts(*means, seeds=5):
    return {f"set {number}": Part(near(mean, seed=number, seeds=seeds)) for number, mean in enumerate(means)}


def judged(*means, claim=CLAIM, seeds=5):
    return claim_rule.test_claim(claim, parts(*means, seeds=seeds))


def test_an_effect_or_its_absence_is_decided_beyond_the_margin_around_the_baseline():
    for sign, verdict in ((1, "confirmed"), (-1, "contradicted")):
        assert judged(sign * 0.2).verdict == verdict
        assert judged(sign * 0.2, sign * 0.25, sign * 0.3).verdict == verdict
    for mean in (0.02, -0.02, 0.05, -0.05):
        claim = claim_rule.test_claim(CLAIM, {"set": Part(near(mean, spread=0.001))})
        assert claim.pooled.low * claim.pooled.high > 0
        assert claim.verdict == "not confirmed"
    no_less = replace(CLAIM, kind="no_less")
    assert judged(0.0, claim=no_less).verdict == "confirmed"
    assert judged(-0.2, claim=no_less).verdict == "contradicted"
    assert judged(-MARGIN, claim=no_less).verdict == "not confirmed"
    above_half = replace(CLAIM, baseline=0.5)
    assert above_half.bounds == pytest.approx((0.45, 0.55))
    assert replace(above_half, kind="no_less").bounds == pytest.approx((0.45, 0.45))
    assert judged(0.6, claim=above_half).verdict == "confirmed"
    assert judged(0.4, claim=above_half).verdict == "contradicted"
    assert judged(0.52, claim=above_half).verdict == "not confirmed"


def test_sets_that_vary_widen_the_interval_and_one_that_disagrees_is_named_and_is_no_veto():
    assert judged(0.1, 0.1, 0.1).verdict == "confirmed"
    assert judged(-0.1, 0.1, 0.3).verdict == "not confirmed"
    for sign, verdict in ((1, "confirmed"), (-1, "contradicted")):
        claim = judged(*[sign * 0.5] * 9, sign * -0.1)
        assert (claim.verdict, claim.exceptions) == (verdict, ("set 9",))
    claim = judged(-0.4, 0.4)  # beyond no bound there is nothing to except from
    assert (claim.exceptions, claim.p) == ((), 1.0)


def test_parts_that_are_excepted_undefined_or_not_learnt_do_not_count():
    claim = judged(0.2, 0.25, -0.9, claim=replace(CLAIM, excepts=("set 2",)))
    assert list(claim.parts) == ["set 0", "set 1", "set 2"]
    assert claim.pooled.value == pytest.approx(0.225, abs=0.01)
    assert (claim.trainings, claim.exceptions) == (10, ())
    unknown = Part(torch.full((5, 4), torch.nan), trainings=5)
    others = {"not": Part(near(-0.9), beats_constant=False), "unknown": unknown}
    claim = claim_rule.test_claim(CLAIM, {"learnt": Part(near(0.2)), **others})
    assert (claim.verdict, list(claim.parts), claim.left_out) == ("confirmed", ["learnt"], ("not",))
    empty = claim_rule.test_claim(CLAIM, {"unknown": unknown})
    assert (judged().verdict, empty.verdict, empty.parts) == ("not tested", "not tested", {})
    assert claim_rule.cell_has_learnt(made_cell("sst2", "bilstm"))
    constant = made_cell("sst2", "bilstm", columns={"prediction.label": share(0.5), "prediction.correct": share(0.5)})
    assert not claim_rule.cell_has_learnt(constant)
    assert not claim_rule.part_of(near(0.2), made_cell("sst2", "bilstm"), constant).beats_constant


def test_trainings_are_counted_over_parts_or_given_and_with_fewer_than_five_nothing_is_tested():
    for seeds, verdict in ((4, "not tested"), (5, "confirmed")):
        claim = judged(0.2, seeds=seeds)
        assert (claim.trainings, claim.verdict, claim.unadjusted) == (seeds, verdict, verdict)
        assert claim.pooled.value == pytest.approx(0.2, abs=0.02)
    assert judged(0.2, 0.2, 0.2, seeds=2).trainings == 6
    assert claim_rule.test_claim(CLAIM, {"set": Part(near(0.2, seeds=1), trainings=9)}).trainings == 9
    undefined = near(0.2)
    undefined[0] = torch.nan
    assert Part(undefined).count == 4


def decided(*p_values):
    each = replace(CLAIM, unadjusted="confirmed", verdict="confirmed")
    adjusted = claim_rule.decide([replace(each, id=f"claim_{number}", p=p) for number, p in enumerate(p_values)])
    return [claim.verdict == "confirmed" for claim in adjusted]


def test_holm_by_hand_over_the_claims_that_are_tested():
    assert decided(0.04) == [True]
    assert decided(0.03, 0.01) == [True, True]  # .01 x 2, .03 x 1
    assert decided(0.03, 0.026) == [False, False]  # .026 x 2 is too much, and ends it
    assert decided(0.03, 0.001, 0.02) == [True, True, True]  # .001 x 3, .02 x 2, .03 x 1
    assert decided(0.03, 0.001, 0.026) == [False, True, False]
    sure = replace(CLAIM, p=0.04, unadjusted="contradicted", verdict="contradicted")
    untested = [replace(CLAIM, id=f"untested_{number}") for number in range(5)]
    assert claim_rule.decide([*untested, sure]) == [*untested, sure]


def test_the_p_value_agrees_with_the_interval():
    for mean in (0.06, 0.065, 0.07, 0.08, -0.065, -0.08):
        claim = judged(mean, mean + 0.002, mean - 0.002, mean + 0.01)
        assert (claim.p < claim_rule.ERROR) == (claim.verdict != "not confirmed")


def scored(*accuracies, columns=None):
    """A cell with a run of each accuracy."""
    runs = (described(RUN).model_copy(update={"scores": {"test": {"accuracy": each}}}) for each in accuracies)
    return Cell("sst2", "bilstm", "bilstm", "", tuple(runs), columns or {})


def test_scores_are_averaged_over_seeds_or_those_of_the_audited_texts():
    score = known(claim_rule.score_estimate(scored(0.80, 0.81, 0.82), "accuracy"))
    low, high = stats.t.interval(0.95, df=2, loc=0.81, scale=stats.sem([0.80, 0.81, 0.82]))
    assert (score.value, score.low, score.high) == pytest.approx((0.81, low, high))
    assert score.n == 3
    assert claim_rule.score_estimate(scored(0.8), "no_such_score") is None
    single = known(claim_rule.score_estimate(scored(0.8), "accuracy"))
    assert single.value == 0.8 and isnan(single.low) and isnan(single.high)
    assert known(claim_rule.score_estimate(scored(0.9, 1.0), "accuracy")).high == 1.0
    assert known(claim_rule.score_estimate(scored(0.0, 0.1), "accuracy")).low == 0.0
    audited = scored(0.80, 0.81, columns={"prediction.correct": share(0.9)})
    assert known(claim_rule.score_estimate(audited, "accuracy")) == claim_rule.estimate(share(0.9))


def test_differences_and_values_elsewhere():
    difference = claim_rule.paired(near(0.5, seeds=3, spread=0), near(0.2, seeds=2, spread=0))
    assert difference.shape == (2, 200)
    assert difference.mean() == pytest.approx(0.3)
    values = claim_rule.only_where(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, False, True]]))
    estimate = claim_rule.estimate(values)
    assert (estimate.n, estimate.value) == (2, 2.0)
    empty = claim_rule.entry(None, 0.3)
    assert (empty.ours, empty.paper) == (None, 0.3)
