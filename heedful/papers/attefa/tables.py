"""The tables of Amini and Kosseim, and what else an adversary could do."""

from math import log, nan

import torch

from heedful.jobs.planning import ADVERSARY_SEEDS
from heedful.measures import Estimate
from heedful.papers.attefa.columns import (
    BILSTM,
    FUTURE,
    FUTURE_BY_LAMBDA,
    MLP,
    NAME,
    NEEDED,
    TRANSFORMER,
    base_cells,
    family_of,
    paper_cell,
)
from heedful.papers.claim_rule import score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Entry, Results, Table


def tables(results: Results) -> list[Table]:
    """Tables 2 and 3, the values of each seed (Tables 4, 5); and, not in the paper, the family and a transformer."""
    cells = base_cells(results)
    return [_bases(cells), _adversaries(cells), _seeds(cells), _members(cells), _transformer(results)]


def _bases(cells: list[Cell]) -> Table:
    rows = []
    for cell in cells:
        metric = "f1" if cell.classes == 2 else "accuracy"
        printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure="f1")
        rows.append(((cell.data, cell.model), (Entry(score_estimate(cell, metric), printed),)))
    note = "F1 of the positive class (accuracy where there are more than two)."
    return Table("Table 2", "The base models", note, ("data", "model"), ("F1",), tuple(rows))


def _adversaries(cells: list[Cell]) -> Table:
    rows = []
    for cell in cells:
        entries = tuple(
            Entry(
                _spread(values) if values else None,
                number(NAME, item="Table 3", data=cell.data, model=cell.model, measure=measure),
            )
            for measure, values in _by_adversary(cell).items()
        )
        rows.append(((cell.data, cell.model), entries))
    note = "Mean over the adversaries, plus or minus one standard deviation. TVD over one output unit, as printed."
    columns = ("epoch", "F1", "TVD", "JSD", "AtteFa")
    return Table("Table 3", "The adversaries", note, ("data", "model"), columns, tuple(rows))


def _by_adversary(cell: Cell) -> dict[str, list[float]]:
    """The measures of Table 3, a value per adversary."""
    members, adversaries = family_of(cell).seeds, cell.comparison_models.adversaries
    scores = [file.scores["test"].get("f1") for file in adversaries]
    return {
        "epochs": [float(file.chosen_epoch) for file in adversaries],
        "adversary_f1": [score for score in scores if score is not None],
        "tvd": [member.unit_tvd for member in members],
        "jsd": [member.js for member in members],
        "attefa": [member.attefa for member in members],
    }


def _spread(values: list[float]) -> Estimate:
    """The mean, plus or minus one standard deviation (of the population, as the paper prints)."""
    tensor = torch.tensor(values, dtype=torch.float64)
    mean, deviation = tensor.mean().item(), tensor.std(correction=0).item()
    return Estimate(mean, mean - deviation, mean + deviation, len(values))


def _seeds(cells: list[Cell]) -> Table:
    most = max((len(family_of(cell).seeds) for cell in cells), default=0)
    rows = []
    for cell in cells:
        members = family_of(cell).seeds
        pairs = zip(cell.comparison_models.adversaries, members, strict=True)
        gave_up = ", ".join(str(file.run.seed) for file, member in pairs if member.gave_up)
        entries = [_single(member.attefa) for member in members]
        padding = [Entry(None)] * (most - len(entries))
        rows.append(((cell.data, cell.model, gave_up or "none"), (*entries, *padding)))
    columns = tuple(f"seed {seed}" for seed in ADVERSARY_SEEDS[:most])
    note = "AtteFa of each adversary, and the seeds of those that gave up: that predict nearly the same for every text."
    return Table("Tables 4 and 5", "Seed by seed", note, ("data", "model", "gave up"), columns, tuple(rows))


def _members(cells: list[Cell]) -> Table:
    rows = tuple(((cell.data, cell.model), tuple(map(_single, _family_values(cell)))) for cell in cells)
    columns = (
        "mean of seeds",
        "best seed by loss",
        "the same relative to the cap",
        "constant",
        "rescaling",
        "frozen, exact",
        "cap / ln 2",
    )
    note = "AtteFa of every member of the family; docs/attefa-family.md says what each means."
    return Table("Family", "What else an adversary could do", note, ("data", "model"), columns, rows)


def _family_values(cell: Cell) -> tuple[float, ...]:
    family = family_of(cell)
    best = family.seeds[family.best]
    return (
        family.mean,
        best.attefa,
        best.attefa_of_cap,
        family.constant.attefa,
        family.rescaled.attefa,
        family.frozen.attefa if family.frozen else nan,
        family.cap / log(2),
    )


def _transformer(results: Results) -> Table:
    """The paper's questions to a transformer: beside the other encoders, few and many words, seeds, lambdas."""
    rows = []
    for cell in results.select(*NEEDED, encoder=TRANSFORMER, role=FUTURE):
        others = [paper_cell(results, cell.data, encoder) for encoder in (BILSTM, MLP)]
        lambdas = results.find(*NEEDED, data=cell.data, encoder=TRANSFORMER, role=FUTURE_BY_LAMBDA)
        entries = (
            *(
                Entry(_spread([member.attefa for member in family_of(each).seeds]) if each else None)
                for each in (cell, *others)
            ),
            Entry(_spread([member.js for member in family_of(cell).seeds])),
            Entry(_spread([member.js for member in family_of(lambdas).seeds]) if lambdas else None),
        )
        rows.append(((cell.data,), entries))
    columns = (
        "AtteFa, transformer",
        "AtteFa, BiLSTM",
        "AtteFa, MLP",
        "JSD, AtteFa's adversaries",
        "JSD, over lambdas",
    )
    note = (
        "What the paper asks of its encoders, asked of a transformer of two layers trained from scratch: is its "
        "attention less faithful than that of an encoder without context; is AtteFa lower with many informative words "
        "(q) than with few; do seeds agree (means plus or minus one standard deviation); does attention move as far as "
        "with a lambda?"
    )
    return Table("Future work", "A transformer", note, ("data",), columns, tuple(rows))


def _single(value: float) -> Entry:
    """A number without an interval."""
    return Entry(Estimate(value, nan, nan, 1))
