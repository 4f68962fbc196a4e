"""Every function of heedful.exact against brute force or an independent solver, on new random cases.

Texts of up to five items, so that all subsets, permutations, pairs and corners can be listed. A third of them have
weights in sixteenths and logits in halves, so that ties are exact; a third have equal items; erasures also get very
sharp weights. What is returned as the largest or least must not be beaten by anything tried here, and the attention
returned with it must keep its limits and attain it. Minutes for 10,000 cases; exit code 1 if a case fails.

    OMP_NUM_THREADS=1 python benchmarks/brute_force.py [--cases 10000] [--seed 0] [--only first_flip,frozen_optimum]
"""

import argparse
import sys
from collections.abc import Callable

import torch
from brute_force_adversaries import (
    check_eps_max_js,
    check_eps_max_js_bound,
    check_frozen_optimum,
    check_survives_on_items,
    check_survives_without_top,
    check_without_top,
)
from brute_force_balls import check_certificates, check_worst_cases
from brute_force_erasures import (
    check_first_flip,
    check_log_weights,
    check_minimal_flip_set,
    check_prefix_logits,
    check_single_erasure_logits,
)
from brute_force_permutations import (
    check_drawn_permutations,
    check_expected_permuted_js,
    check_some_permutation_flips,
    check_worst_permutation,
)
from random_cases import BATCH, LONGEST, Cases, Outcome, draw_cases
from rich.console import Console
from rich.table import Table
from torch import Tensor

TWO, MORE, ANY = (2,), (3, 4), (2, 3, 4)
CHECKS: list[tuple[Callable[[Cases], list[Outcome]], tuple[int, ...]]] = [
    (check_prefix_logits, ANY),
    (check_single_erasure_logits, ANY),
    (check_first_flip, ANY),
    (check_minimal_flip_set, ANY),
    (check_log_weights, TWO),
    (check_expected_permuted_js, TWO),
    (check_worst_permutation, TWO),
    (check_worst_permutation, MORE),
    (check_some_permutation_flips, ANY),
    (check_drawn_permutations, ANY),
    (check_without_top, TWO),
    (check_survives_without_top, TWO),
    (check_eps_max_js, TWO),
    (check_frozen_optimum, TWO),
    (check_certificates, ANY),
    (check_worst_cases, TWO),
    (check_survives_on_items, MORE),
    (check_eps_max_js_bound, MORE),
]


def run(
    check: Callable[[Cases], list[Outcome]], classes: tuple[int, ...], cases: int, seed: int
) -> dict[str, list[float]]:
    """Per label: cases, largest deviation, failures."""
    generator, totals = torch.Generator().manual_seed(seed), dict[str, list[float]]()
    for number, start in enumerate(range(0, cases, BATCH)):
        size = min(BATCH, cases - start)
        batch = draw_cases(size, 1 + number % LONGEST, classes[number // LONGEST % len(classes)], generator)
        worst: dict[str, tuple[Tensor, Tensor]] = {}
        for label, deviation, tolerance in check(batch):
            apart, failed = worst.get(label, (torch.zeros(size).double(), torch.zeros(size).bool()))
            worst[label] = torch.maximum(apart, deviation), failed | ~(deviation <= tolerance)
        for label, (apart, failed) in worst.items():
            total = totals.setdefault(label, [0, 0.0, 0])
            totals[label] = [total[0] + size, max(total[1], float(apart.max())), total[2] + int(failed.sum())]
    return totals


def main() -> None:
    """Print the table; exit code 1 if any case fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console, table, failures = Console(highlight=False), Table("function", "cases", "largest deviation", "failures"), 0
    for check, classes in CHECKS:
        if not any(part in check.__name__ for part in arguments.only.split(",")):
            continue
        for label, (cases, deviation, failed) in run(check, classes, arguments.cases, arguments.seed).items():
            table.add_row(label, f"{int(cases):,}", f"{deviation:.1e}", str(int(failed)))
            failures += int(failed)
    console.print(table)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
