"""The cells with adversaries, and what their rows say text by text."""

from math import log

import torch

from heedful.battery.adversarial_models import families
from heedful.battery.attefa_family import Family
from heedful.battery.question import Values
from heedful.studies.study import Cell, Results

NAME = "attefa"
BILSTM, MLP = "bilstm", "mlp"
BY_LAMBDA, FUTURE = "by lambda", "future work"
"""Roles: the base model with one adversary of Wiegreffe and Pinter's per lambda; what the paper leaves to others."""

CAP, TVD, JS = "attefa.cap", "adversarial_models.tvd_{}".format, "adversarial_models.js_{}".format
NEEDED = (CAP, TVD(1))


def family_of(cell: Cell) -> Family:
    """The family of the cell's base model."""
    return families(cell.columns)[0]


def base_cells(results: Results) -> list[Cell]:
    """The cells with adversaries trained by AtteFa's loss: the paper's, then the variants it leaves to others."""
    return [*results.select(*NEEDED), *results.select(*NEEDED, role=FUTURE)]


def lambda_cells(results: Results) -> list[Cell]:
    """The cells with an adversary for each lambda."""
    return results.select(*NEEDED, role=BY_LAMBDA)


def paper_cell(results: Results, data: str, encoder: str) -> Cell | None:
    """The cell of one of the paper's own models."""
    return results.find(*NEEDED, data=data, encoder=encoder)


def mean_attefa(cell: Cell) -> Values:
    """What AtteFa averages, text by text: the mean over all adversaries."""
    return torch.stack([_attefa(cell, number) for number in range(len(family_of(cell).seeds))]).mean(0)


def best_attefa(cell: Cell) -> Values:
    """The same for the adversary with the lowest loss."""
    return _attefa(cell, family_of(cell).best)


def attefa_range(cell: Cell) -> Values:
    """The adversary with the highest AtteFa - the one with the lowest, text by text."""
    members = family_of(cell).seeds
    order = sorted(range(len(members)), key=lambda number: members[number].attefa)
    return _attefa(cell, order[-1]) - _attefa(cell, order[0])


def mean_divergence(cell: Cell) -> Values:
    """How far the adversaries moved attention, text by text: the mean over all of them."""
    count = len(family_of(cell).seeds)
    return torch.stack([cell.columns[JS(number + 1)] for number in range(count)]).mean(0)


def _attefa(cell: Cell, number: int) -> Values:
    """The TVD of an adversary, over its mean divergence: the mean over texts is its AtteFa (if below 1)."""
    return cell.columns[TVD(number + 1)] * log(2) / family_of(cell).seeds[number].js
