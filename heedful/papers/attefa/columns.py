"""The cells with adversaries, and what their rows say text by text."""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.adversarial_models import Family, families
from heedful.papers.reproduction import Cell, Results

NAME = "attefa"
BILSTM, MLP, TRANSFORMER = "bilstm", "mlp", "transformer"
BY_LAMBDA, FUTURE, FUTURE_BY_LAMBDA = "by lambda", "future work", "future work, by lambda"
"""Roles: the base model with one adversary of Wiegreffe and Pinter's per lambda; what the paper leaves to others, as it
is and by lambda."""

SPARSE, DENSE = ("mock-1", "mock-2", "mock-5", "mock-10"), ("mock-1q", "mock-2q", "mock-3q", "mock-4q")
"""Mock sets with few informative words, and those in which a quarter of the words or more are; each in order."""
MOCKS = (*SPARSE, *DENSE)

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


def attefa_by_adversary(cell: Cell) -> Float[Tensor, "adversary text"]:
    """What AtteFa averages, text by text, for each adversary."""
    return torch.stack([_attefa(cell, number) for number in range(len(family_of(cell).seeds))])


def best_attefa(cell: Cell) -> Float[Tensor, "one text"]:
    """The same for the adversary with the lowest loss."""
    return _attefa(cell, family_of(cell).best).unsqueeze(0)


def distance_between_clusters(cell: Cell) -> Float[Tensor, "adversary text"]:
    """Twice the distance of each adversary's AtteFa from the mean of all, text by text.

    Of two clusters of equal size the mean is their distance; of two adversaries, the higher AtteFa - the lower.
    """
    values = attefa_by_adversary(cell)
    distances = values - values.mean(0)
    return 2 * distances.mean(1).sign().unsqueeze(1) * distances


def divergence_by_adversary(cell: Cell) -> Float[Tensor, "adversary text"]:
    """How far each adversary moved attention, text by text."""
    return torch.stack([_texts(cell, JS(number + 1)) for number in range(len(family_of(cell).seeds))])


def _attefa(cell: Cell, number: int) -> Float[Tensor, " text"]:
    """The TVD of an adversary, over its mean divergence: the mean over texts is its AtteFa (if below 1)."""
    return _texts(cell, TVD(number + 1)) * log(2) / family_of(cell).seeds[number].js


def _texts(cell: Cell, column: str) -> Float[Tensor, " text"]:
    """The column of the only base model."""
    return cell.columns[column][0]
