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


def test_an_effect_at_a_bound_or_none_is_rarely_decided_and_one_of_twice_the_margin_mostly_confirmed():
    for kind, effect in (("more", 1.0), ("no_less", -1.0), ("more", 0.0)):
        assert sum(VERDICTS(WORLD, kind, effect, HALF_A_MARGIN, SIMULATIONS).values()) <= 0.05 + TOLERANCE
    rates = VERDICTS(WORLD, "more", 2.0, HALF_A_MARGIN, SIMULATIONS)
    assert rates["confirmed"] >= 0.8
    assert rates["contradicted"] == 0.0
    assert rates["confirmed"] == pytest.approx(MEASURED["worlds"]["agreement"]["confirms"], abs=2 * TOLERANCE)


def test_what_the_pages_print_was_measured_and_is_good_enough():
    worlds = MEASURED["worlds"]
    assert worlds.keys() == BENCHMARK["WORLDS"].keys()
    for name, rates in worlds.items():
        assert rates["decides"] <= 0.05 + 0.015, name  # two standard errors of a rate of .05 in 1,000 simulations
        assert rates["confirms"] >= 0.8, name
        assert f"{100 * rates['confirms']:.0f} % ({name}" in error_rates_text()
