"""How often the rule for claims says what, in simulated worlds whose truth is known.

A world draws what a study measures, in margins: datasets whose true effects differ, seeds that shift all texts of a
dataset, and texts. How much datasets differ is what the stored studies show (median and upper quartile over
their claims).

    python benchmarks/claims.py [--simulations 400] [--write]

With --write, docs/claims.md gets the table at the next `python docs/claims.py`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path
from statistics import quantiles, stdev

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from heedful.papers.claim_rule import judge_claim
from heedful.papers.reproduction import Claim

DOCS = Path(__file__).parents[1] / "docs"
RATES = DOCS / "claim_rates.json"
SETS, SEEDS, MEANS = (2, 3, 4, 8), 3, (0.0, 1.0, 2.0, 5.0)
SEED_SD, TEXT_ERROR, TEXTS = 0.5, 0.25, 40
"""In margins: how much seeds differ, and the error of a dataset's mean that its texts cause."""
SIMULATIONS = 400
WORDS = ("replicated", "mixed", "not replicated", "open")
COLUMNS = ("true mean", "sd between datasets", "datasets", *WORDS)


def spreads() -> list[float]:
    """Standard deviation between the datasets of a claim of the stored studies, in margins: median, upper quartile."""
    deviations = []
    for file in sorted([*DOCS.glob("studies/*.json"), *DOCS.glob("papers/*.json")]):
        for claim in json.loads(file.read_text(encoding="utf-8"))["claims"]:
            effects, margin = _effects(claim), claim.get("margin", claim.get("claim", {}).get("margin"))
            if len(effects) > 1:
                deviations.append(stdev(effects) / margin)
    return [round(each, 1) for each in quantiles(deviations, n=4)[1:]]


def _effects(claim: dict) -> list[float]:
    """The effect on each dataset; parts of results by an earlier rule are averaged within a dataset."""
    if "sets" in claim:
        return [each["effect"]["value"] for each in claim["sets"]]
    by_data: dict[str, list[float]] = {}
    for name, part in claim["parts"].items():
        by_data.setdefault(name.split(",")[0], []).append(part["value"])
    return [sum(values) / len(values) for values in by_data.values()]


def words(mean: float, between: float, sets: int, seeds: int, simulations: int) -> Counter[str]:
    """How often each word is reached, for claims with a margin of 1."""
    generator = np.random.default_rng(0)
    names = tuple(f"set {number}" for number in range(sets))
    claim = Claim("x", "own", "", "", "more", "x", "margins", 1.0, "", date.min, names)
    reached: Counter[str] = Counter()
    for _ in range(simulations):
        values = {name: drawn(generator, mean + between * generator.normal(), seeds) for name in names}
        reached[judge_claim(claim, values).word] += 1
    return reached


def drawn(generator: np.random.Generator, effect: float, seeds: int) -> torch.Tensor:
    """[seed text] around the effect; all seeds share the error of the texts."""
    shift, texts = generator.normal(size=(seeds, 1)), generator.normal(size=(1, TEXTS))
    return torch.from_numpy(effect + SEED_SD * shift + TEXT_ERROR * TEXTS**0.5 * texts)


def rows(simulations: int) -> Iterator[dict[str, str]]:
    """The table, row by row."""
    for mean, between, sets in product(MEANS, (0.0, *spreads()), SETS):
        if mean == 0 and between:
            continue
        reached = words(mean, between, sets, SEEDS, simulations)
        shares = (f"{reached[word] / simulations:.2f}" for word in WORDS)
        yield dict(zip(COLUMNS, (f"{mean:g}", f"{between:g}", str(sets), *shares), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--write", action="store_true", help="write the table for docs/claims.md")
    arguments = parser.parse_args()
    about = (
        f"Share of {arguments.simulations} simulated claims with each result (`benchmarks/claims.py`). Effects are in "
        f"margins. Each dataset has {SEEDS} seeds, which differ by {SEED_SD}; texts add an error of {TEXT_ERROR}. "
        "Datasets differ by nothing, or by the median or the upper quartile of what the stored studies show."
    )
    made = list(rows(arguments.simulations))
    table = Table(*COLUMNS, title=about)
    for row in made:
        table.add_row(*row.values())
    Console().print(table)
    if arguments.write:
        content = {"about": about, "columns": COLUMNS, "rows": made}
        RATES.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
