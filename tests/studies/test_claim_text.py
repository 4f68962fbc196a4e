"""Claims in words."""

from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.studies.claim_text import (
    claim_bounds_text,
    claim_details,
    claim_number,
    claim_parts,
    claim_unit,
    summary_sentence,
)
from heedful.studies.claims import FEWEST_TRAININGS

NUMBER = Estimate(0.1234, 0.1, 0.15, 100)


def with_verdicts(claim, *verdicts):
    return [replace(claim, id=f"claim_{place}", verdict=verdict) for place, verdict in enumerate(verdicts)]


def test_the_summary_counts_every_verdict(claim):
    several = with_verdicts(claim, "contradicted", "confirmed", "not confirmed", "confirmed", "not confirmed")
    assert summary_sentence(several) == "Of 5 claims, 2 are confirmed, 2 not confirmed, 1 contradicted."
    untested = [*several, *with_verdicts(claim, "not tested")]
    assert summary_sentence(untested) == "Of 6 claims, 2 are confirmed, 2 not confirmed, 1 contradicted (1 not tested)."


def test_the_summary_of_a_single_claim_is_a_sentence(claim):
    (single,) = with_verdicts(claim, "confirmed")
    assert summary_sentence([single]) == "Of 1 claim, 1 is confirmed, 0 not confirmed, 0 contradicted."


@pytest.mark.parametrize(
    "unit, text, bounds",
    [
        ("nats", "0.123 (0.100 to 0.150) nats", "confirmed above 0.150, contradicted below 0.050"),
        ("AtteFa", "0.123 (0.100 to 0.150) in AtteFa", "confirmed above 0.150, contradicted below 0.050"),
        ("share of texts", "12.3 % (10.0 to 15.0 %) of texts", "confirmed above 15.0 %, contradicted below 5.0 %"),
        (
            "fraction of a text's items",
            "12.3 % (10.0 to 15.0 %) of a text's items",
            "confirmed above 15.0 %, contradicted below 5.0 %",
        ),
        (
            "accuracy",
            "12.3 (10.0 to 15.0) percentage points of accuracy",
            "confirmed above 15.0, contradicted below 5.0",
        ),
    ],
)
def test_a_claim_s_number_has_its_own_unit(claim, unit, text, bounds):
    tested = replace(claim, unit=unit, pooled=NUMBER)
    assert claim_number(tested) == text
    assert claim_bounds_text(tested) == bounds


def test_what_was_not_measured_has_no_number(claim):
    assert claim_number(claim) == "not measured"


def test_parts_are_in_the_unit_of_their_claim_and_say_which_the_paper_excepts(claim):
    tested = replace(claim, parts={"sst2": NUMBER, "snli": NUMBER}, excepts=("snli",))
    shares, accuracies = replace(tested, unit="share of texts"), replace(tested, unit="accuracy")
    assert claim_parts(shares)[0] == ("sst2", "12.3 % (10.0 to 15.0 %)")
    assert claim_parts(tested)[1] == ("snli (excepted by the paper)", "0.123 (0.100 to 0.150)")
    assert (claim_unit(shares), claim_unit(accuracies)) == ("share of texts", "percentage points of accuracy")


def test_details_say_what_the_verdict_rests_on(claim):
    number = Estimate(0.12, 0.1, 0.14, 100)
    tested = replace(claim, quote="", pooled=number, trainings=7, exceptions=("c",), left_out=("d", "e"))
    tested = replace(tested, unadjusted="confirmed", verdict="not confirmed")
    assert claim_details(tested) == (
        "Measured: x - y; confirmed above 0.150, contradicted below 0.050. Source: section 1. Trained models: 7. "
        "Exceptions: c. Left out, for they have not learnt their task: d; e. By itself, without allowing for the other "
        "claims, it would be confirmed. If there is a difference, it is surely too small to matter."
    )


def test_details_quote_the_paper_and_leave_out_what_does_not_apply(claim):
    tested = replace(claim, pooled=NUMBER, trainings=5, unadjusted="confirmed", verdict="confirmed")
    assert claim_details(tested) == (
        "Measured: x - y; confirmed above 0.150, contradicted below 0.050. "
        'The paper, section 1: "so it is". Trained models: 5.'
    )


def test_a_claim_with_too_few_models_says_why_it_is_not_tested(claim):
    few, enough = (replace(claim, trainings=count) for count in (FEWEST_TRAININGS - 1, FEWEST_TRAININGS))
    assert claim_details(few).endswith("Trained models: 4, too few to test the claim (5 are needed).")
    assert claim_details(enough).endswith("Trained models: 5.")


@pytest.mark.parametrize("low, high, is_small", [(0.06, 0.14, True), (0.04, 0.14, False), (0.06, 0.16, False)])
def test_only_a_difference_within_both_bounds_is_too_small_to_matter(claim, low, high, is_small):
    tested = replace(claim, pooled=Estimate(0.1, low, high, 9), verdict="not confirmed")
    assert claim.bounds == pytest.approx((0.05, 0.15))
    assert ("too small to matter" in claim_details(tested)) == is_small
