"""How often the 95 % intervals of the verdict contain the truth, in simulated worlds whose truth is known.

A world draws the value, and for a score the floor and the best, of every seed and text. Half of a cell's variance
belongs to the text, so that seeds agree about texts as trained models do. `training` is how much the seeds add to the
variance of the mean: nothing, as much as the texts, or four times as much. A thousand simulations take about a second
for a value and four for a score, the whole table about an hour; with 2,000 a coverage is known to about .005.

    python benchmarks/coverage.py [--simulations 2000] [--worlds "symmetric,share 0.1,erase_one .5"]
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import isnan, nan, sqrt

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr, ndtri

from heedful.measures import mean_interval, score_interval

TEXTS, SEEDS = (20, 50, 100, 500), (1, 3, 5, 9)
TRAINING = {"none": 0.0, "equal": 1.0, "dominating": 4.0}
SIMULATIONS = 2000
LEAST, MOST = 0.92, 0.98
"""What coverage should be; values that are shares, and scores, may be covered more often."""

Cells = np.ndarray
ValueFloorBest = tuple[Cells, Cells | None, Cells | None]
"""Value, floor and best; without a score, the value alone."""


@dataclass(frozen=True)
class Design:
    """How many seeds and texts there are, and how much training varies."""

    seeds: int
    texts: int
    training: str = "none"

    @property
    def shift(self) -> float:
        """Standard deviation of what a seed adds, in standard deviations of what a text adds."""
        return sqrt(TRAINING[self.training] * self.seeds / self.texts) if self.seeds > 1 else 0.0


World = Callable[[np.random.Generator, Design], ValueFloorBest]


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that contain the truth, of the value and of the score; None where there is no score."""

    value: float
    score: float | None
    undefined: float


def both(generator: np.random.Generator, design: Design, draw: Callable[[tuple[int, int]], Cells]) -> Cells:
    """Cells with mean 0, half of whose variance belongs to the text."""
    if design.seeds == 1:
        return draw((1, design.texts))
    return (draw((1, design.texts)) + draw((design.seeds, design.texts))) / sqrt(2)


def shifts(generator: np.random.Generator, design: Design, text_sd: float) -> Cells:
    """What each seed adds to all of its cells."""
    return design.shift * text_sd * generator.normal(size=(design.seeds, 1))


def additive(draw: Callable[[np.random.Generator, tuple[int, int]], Cells]) -> World:
    """A world without a score: cells drawn with mean 0 and variance 1."""

    def world(generator: np.random.Generator, design: Design) -> ValueFloorBest:
        cells = both(generator, design, lambda shape: draw(generator, shape))
        return cells + shifts(generator, design, sqrt(0.5)), None, None

    return world


def tvd(generator: np.random.Generator, shape: tuple[int, int]) -> Cells:
    """Seven of ten near 0, the rest anywhere up to 1; standardized."""
    near_0, spread_out = generator.beta(0.5, 50, size=shape), generator.beta(1, 2, size=shape)
    return (np.where(generator.random(shape) < 0.7, near_0, spread_out) - 0.10693) / 0.19690


def tau(generator: np.random.Generator, shape: tuple[int, int]) -> Cells:
    """Bounded, with a long tail to the left; standardized."""
    return (generator.beta(5, 2, size=shape) - 5 / 7) / sqrt(10 / 392)


def latent(generator: np.random.Generator, design: Design, seed_share: float = 0.0) -> Cells:
    """Standard normal cells, of whose variance that share belongs to the seed and half of the rest to the text."""
    cells = both(generator, design, lambda shape: generator.normal(size=shape))
    return sqrt(1 - seed_share) * cells + sqrt(seed_share) * generator.normal(size=(design.seeds, 1))


def variance_of_chances(chance: float, share: float) -> float:
    """The variance of the chance of a 1 given a part of the latent variable with that share of its variance."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    chances = ndtr((ndtri(chance) + sqrt(share) * nodes) / sqrt(1 - share))
    return float((weights / weights.sum()) @ chances**2) - chance**2


@cache
def seed_share(chance: float, design: Design) -> float:
    """The seeds' share of the latent variance at which they add to the variance of the mean what the design says."""
    low, high = 0.0, 0.999
    for _ in range(40 if design.shift else 0):
        middle = (low + high) / 2
        wanted = design.shift**2 * variance_of_chances(chance, (1 - middle) / 2)
        low, high = (middle, high) if variance_of_chances(chance, middle) < wanted else (low, middle)
    return low


def zeros_and_ones(chance: float) -> World:
    """A world of shares."""

    def world(generator: np.random.Generator, design: Design) -> ValueFloorBest:
        cells = latent(generator, design, seed_share(chance, design)) < ndtri(chance)
        return cells.astype(float), None, None

    return world


def agreement(generator: np.random.Generator, design: Design) -> ValueFloorBest:
    """Tau with a permuted floor and a yardstick that shares the text's difficulty."""
    easy, own, other = (latent(generator, design) for _ in range(3))
    value = 0.3 + 0.2 * easy + shifts(generator, design, 0.2 * sqrt(0.5))
    return value, 0.05 + 0.15 * own, 0.55 + 0.12 * easy + 0.16 * other


def permutation(generator: np.random.Generator, design: Design) -> ValueFloorBest:
    """A median TVD that is some share of the worst TVD, which is near 0 for most texts."""
    worst = generator.beta(0.3, 2, size=(1, design.texts))
    if design.seeds > 1:
        worst = worst * generator.gamma(4, 0.25, size=(design.seeds, design.texts))
    shares = generator.beta(2, 3, size=(design.seeds, design.texts)) + shifts(generator, design, 0.2)
    return shares * worst, np.zeros_like(worst), worst


def erase_one(flips: float) -> World:
    """Flips by the top word, by a random word in expectation, and by some word, which can flip 60 % of decisions."""

    def world(generator: np.random.Generator, design: Design) -> ValueFloorBest:
        best = latent(generator, design) < ndtri(0.6)
        value = best & (latent(generator, design, seed_share(flips, design)) < ndtri(flips))
        floor = 0.15 * best * generator.beta(2, 2, size=best.shape)
        return value.astype(float), floor, best.astype(float)

    return world


def erase_until_flip(generator: np.random.Generator, design: Design) -> ValueFloorBest:
    """Shares of a text that are not needed: at random, by attention, and by the smallest set."""
    needed = ndtr(latent(generator, design) - 1.5)
    wasted = 0.2 * np.maximum(0, latent(generator, design))
    value = 1 - 0.7 * needed - wasted + shifts(generator, design, 0.12)
    return value, 0.7 - 0.7 * needed, 1 - 0.7 * needed


def uniform(generator: np.random.Generator, design: Design) -> ValueFloorBest:
    """Accuracy lost with uniform attention, and by a constant answer."""
    share = seed_share(0.8, design)
    difficulty = latent(generator, design)
    other = latent(generator, design, share)
    correct = difficulty < ndtri(0.85)
    with_uniform = sqrt(0.8) * difficulty + sqrt(0.2) * other < ndtri(0.8)
    constant = generator.random((1, design.texts)) < 0.6
    return correct * 1.0 - with_uniform, np.zeros(correct.shape), correct * 1.0 - constant


WORLDS: dict[str, World] = {
    "symmetric": additive(lambda generator, shape: generator.normal(size=shape)),
    "skewed": additive(lambda generator, shape: generator.exponential(size=shape) - 1),
    "tvd": additive(tvd),
    "tau": additive(tau),
    **{f"share {chance}": zeros_and_ones(chance) for chance in (0.02, 0.1, 0.3, 0.5, 0.9, 0.98)},
    "agreement": agreement,
    "permutation": permutation,
    "erase_one .1": erase_one(0.1),
    "erase_one .5": erase_one(0.5),
    "erase_one .95": erase_one(0.95),
    "erase_until_flip": erase_until_flip,
    "uniform": uniform,
}


def designs() -> Iterator[Design]:
    for seeds in SEEDS:
        for training in TRAINING if seeds > 1 else ("none",):
            for texts in TEXTS:
                yield Design(seeds, texts, training)


def truth(world: World, texts: int = 4_000_000) -> tuple[float, float]:
    """Mean value and score of so many texts that they are as good as known; NaN without a score."""
    value, floor, best = world(np.random.default_rng(0), Design(1, texts))
    if floor is None or best is None:
        return value.mean(), nan
    return value.mean(), (value.mean() - floor.mean()) / (best.mean() - floor.mean())


def coverage(world: World, design: Design, simulations: int, known: tuple[float, float]) -> Coverage:
    """How often the intervals of so many simulated audits contain the truth."""
    generator = np.random.default_rng(design.seeds * 1000 + design.texts)
    values, scores = [], []
    for _ in range(simulations):
        cells, floor, best = world(generator, design)
        value = mean_interval(torch.from_numpy(cells))
        values.append(value.low <= known[0] <= value.high)
        if floor is not None and best is not None:
            score = score_interval(*(torch.from_numpy(part) for part in (cells, floor, best)))
            scores.append(None if isnan(score.value) else score.low <= known[1] <= score.high)
    counted = [is_covered for is_covered in scores if is_covered is not None]
    return Coverage(
        value=sum(values) / len(values),
        score=sum(counted) / len(counted) if counted else None,
        undefined=1 - len(counted) / len(scores) if scores else 0.0,
    )


def row(design: Design, measured: Coverage) -> list[str]:
    score = "" if measured.score is None else f"{measured.score:.3f}"
    undefined = f"{measured.undefined:.1%}" if measured.undefined else ""
    return [str(design.texts), str(design.seeds), design.training, f"{measured.value:.3f}", score, undefined]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    console, extremes = Console(highlight=False), {"value": [], "score": []}
    for name in options.worlds.split(","):
        table = Table("texts", "seeds", "training", "value covered", "score covered", "score undefined", title=name)
        known = truth(WORLDS[name])
        for design in designs():
            measured = coverage(WORLDS[name], design, options.simulations, known)
            table.add_row(*row(design, measured))
            extremes["value"].append(measured.value)
            extremes["score"] += [] if measured.score is None else [measured.score]
        console.print(table)
    for what, covered in extremes.items():
        if covered:
            console.print(
                f"{what}: covered {min(covered):.3f} to {max(covered):.3f} of the time (aim: {LEAST} to {MOST})"
            )


if __name__ == "__main__":
    main()
