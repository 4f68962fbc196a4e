"""How often the rule for claims decides, in simulated worlds whose truth is known.

A world draws what a study measures: sets whose true effects differ, seeds (trainings) that shift all of a set's texts,
and texts; half of a text's variance is shared by all seeds. Effects and the standard deviation between sets are in
margins. A claim is tested by itself, before Holm's correction: `decides` should be at most .05 where the effect is at a
bound, and `confirms` at least .80 where it is twice the margin.

A test set has as many texts as the named ones that such a number is taken on: 0s and 1s say less than fractions do.

    python benchmarks/claims.py [--simulations 1000] [--worlds agreement,share] [--write]
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr, ndtri

from heedful.measures import pooled_interval
from heedful.papers.claim_rule import verdict_alone
from heedful.papers.reproduction import OldClaim

SETS, SEEDS = 5, 3
RATES = Path(__file__).parents[1] / "heedful" / "papers" / "error_rates.json"
"""What the pages of studies print of this table: where sets differ most."""
BETWEEN = (0.0, 0.25, 0.5)
"""Standard deviations between the true effects of sets, in margins."""
CASES: tuple[tuple[Literal["more", "no_less"], float], ...] = (
    ("more", 1.0),
    ("no_less", -1.0),
    ("more", 0.0),
    ("more", 2.0),
)
"""What is claimed, and the true effect in margins: first those at a bound, where deciding is an error."""
SIMULATIONS = 1000

Values = np.ndarray


@dataclass(frozen=True)
class World:
    """What is measured: the margin, how much seeds shift it (in margins), and how a set's [seed text] are drawn.

    Args:
        draw: given the means of the seeds of one set, and how many texts it has.
        baseline: the number where there is no effect.
    """

    margin: float
    training: float
    draw: Callable[[np.random.Generator, Values, int], Values]
    baseline: float = 0.0
    texts: int = 300


def shared(generator: np.random.Generator, seeds: int, texts: int) -> Values:
    """[seed text] with mean 0 and variance 1, half of which belongs to the text."""
    return (generator.normal(size=(1, texts)) + generator.normal(size=(seeds, texts))) / sqrt(2)


def continuous(deviation: float) -> Callable[[np.random.Generator, Values, int], Values]:
    """Values of this standard deviation around the mean of their seed."""
    return lambda generator, means, texts: means[:, None] + deviation * shared(generator, len(means), texts)


def share(generator: np.random.Generator, means: Values, texts: int) -> Values:
    """0 or 1, with the mean of the seed."""
    return (shared(generator, len(means), texts) < ndtri(means.clip(1e-6, 1 - 1e-6))[:, None]).astype(float)


def accuracy_gain(generator: np.random.Generator, means: Values, texts: int) -> Values:
    """1 where only the first of two models is right, -1 where only the second is: they disagree on a tenth of texts."""
    uniform = ndtr(shared(generator, len(means), texts))
    gained, lost = (0.1 + means) / 2, (0.1 - means) / 2
    return (uniform < gained[:, None]).astype(float) - (uniform > 1 - lost[:, None]).astype(float)


WORLDS = {
    "agreement": World(0.05, 0.25, continuous(0.2)),
    "fraction erased": World(0.05, 0.25, continuous(0.25)),
    "share": World(0.05, 0.25, share, baseline=0.5, texts=1500),
    "accuracy": World(0.02, 0.25, accuracy_gain, texts=2000),
}


def sets(generator: np.random.Generator, world: World, effect: float, between: float) -> list[torch.Tensor]:
    """What SETS data sets say, when the true effect and the deviation between sets are so many margins."""
    effects = effect + between * generator.normal(size=SETS)
    means = world.baseline + world.margin * (effects[:, None] + world.training * generator.normal(size=(SETS, SEEDS)))
    return [torch.from_numpy(world.draw(generator, row, world.texts)) for row in means]


def verdicts(
    world: World, kind: Literal["more", "no_less"], effect: float, between: float, simulations: int
) -> dict[str, float]:
    """How often each verdict is reached."""
    generator = np.random.default_rng(0)
    claim = OldClaim("simulated", "", "", "", "", "", world.margin, kind=kind, baseline=world.baseline)
    estimates = [pooled_interval(sets(generator, world, effect, between)) for _ in range(simulations)]
    reached = [verdict_alone(replace(claim, pooled=estimate)) for estimate in estimates]
    return {verdict: reached.count(verdict) / simulations for verdict in ("confirmed", "contradicted")}


def write_rates(simulations: int) -> None:
    """What the pages print: the largest rate of deciding at a bound, and that of confirming twice the margin."""
    between = BETWEEN[-1]
    rates = {}
    for name, world in WORLDS.items():
        at_a_bound = (sum(verdicts(world, *case, between, simulations).values()) for case in CASES[:2])
        confirms = verdicts(world, *CASES[-1], between, simulations)["confirmed"]
        rates[name] = {"texts": world.texts, "decides": max(at_a_bound), "confirms": confirms}
    content = {"sets": SETS, "seeds": SEEDS, "simulations": simulations, "worlds": rates}
    RATES.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def rows(names: list[str], simulations: int) -> Iterator[tuple[str, ...]]:
    """The table, row by row."""
    for name, between, (kind, effect) in product(names, BETWEEN, CASES):
        rates = verdicts(WORLDS[name], kind, effect, between, simulations)
        decided = sum(rates.values())
        yield name, f"{between:g}", kind, f"{effect:+g}", f"{decided:.3f}", f"{rates['confirmed']:.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--write", action="store_true", help="write what the pages print, and no table")
    arguments = parser.parse_args()
    if arguments.write:
        write_rates(arguments.simulations)
        return
    title = f"{SETS} sets, {SEEDS} seeds, {arguments.simulations} simulations a row"
    table = Table("world", "between sets", "kind", "effect", "decides", "confirms", title=title)
    for row in rows(arguments.worlds.split(","), arguments.simulations):
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
