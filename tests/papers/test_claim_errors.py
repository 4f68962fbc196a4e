"""How often the rule for claims decides; `benchmarks/claims.py` is the full table."""

import json
from pathlib import Path
from runpy import run_path

import pytest

from heedful.papers.claim_rule import error_rates_text

BENCHMARK = run_path(str(Path(__file__).parents[2] / "benchmarks" / "claims.py"))
WORLD, VERDICTS = BENCHMARK["WORLDS"]["agreement"], BENCHMARK["verdicts"]
MEASURED = json.loads(BENCHMARK["RATES"].read_text(encoding="utf-8"))
SIMULATIONS = 200
TOLERANCE = 0.03
"""Two standard errors of a rate of .05 in so many simulations."""
HALF_A_MARGIN = 0.5


@pytest.mark.parametrize(("kind", "effect"), [("more", 1.0), ("no_less", -1.0), ("more", 0.0)])
def test_an_effect_at_a_bound_or_none_is_seldom_decided(kind, effect):
    rates = VERDICTS(WORLD, kind, effect, HALF_A_MARGIN, SIMULATIONS)
    assert sum(rates.values()) <= 0.05 + TOLERANCE


def test_an_effect_of_twice_the_margin_is_mostly_confirmed():
    rates = VERDICTS(WORLD, "more", 2.0, HALF_A_MARGIN, SIMULATIONS)
    assert rates["confirmed"] >= 0.8
    assert rates["contradicted"] == 0.0


def test_what_the_pages_print_was_measured_and_is_good_enough():
    worlds = MEASURED["worlds"]
    assert worlds.keys() == BENCHMARK["WORLDS"].keys()
    for name, rates in worlds.items():
        assert rates["decides"] <= 0.05 + 0.015, name  # two standard errors of a rate of .05 in 1,000 simulations
        assert rates["confirms"] >= 0.8, name
        assert f"{100 * rates['confirms']:.0f} % ({name}" in error_rates_text()


def test_the_written_rates_are_those_of_the_rule():
    rates = VERDICTS(WORLD, "more", 2.0, HALF_A_MARGIN, SIMULATIONS)
    assert rates["confirmed"] == pytest.approx(MEASURED["worlds"]["agreement"]["confirms"], abs=2 * TOLERANCE)
