"""A quick version of benchmarks/coverage.py: how often intervals contain the truth in worlds whose truth is known."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
SIMULATIONS = 100
LEAST = 0.86
"""0.92 less twice its standard error with 100 simulations."""
CASES = [
    ("skewed", 1, 20, "none"),
    ("skewed", 3, 20, "dominating"),
    ("share 0.1", 5, 50, "equal"),
    ("share 0.98", 1, 20, "none"),
    ("permutation", 1, 20, "none"),
    ("erase_one .95", 3, 20, "dominating"),
]


@pytest.fixture(scope="module")
def benchmark():
    specification = importlib.util.spec_from_file_location("benchmark_of_coverage", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("world", "seeds", "texts", "training"), CASES)
def test_intervals_contain_the_truth(benchmark, world, seeds, texts, training):
    draw = benchmark.WORLDS[world]
    known = benchmark.truth(draw, 400_000)
    measured = benchmark.coverage(draw, benchmark.Design(seeds, texts, training), SIMULATIONS, known)
    assert measured.value >= LEAST
    assert measured.score is None or measured.score >= LEAST
