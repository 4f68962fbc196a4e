"""What Amini and Kosseim say about their results, tested on audited rows; and which adversaries gave up."""

from collections.abc import Callable, Mapping, Sequence
from math import log

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.adversarial_models import BETTER, GAVE_UP, NO_BETTER, Family, families
from heedful.battery.question import Values
from heedful.formatting import format_number
from heedful.jobs.planning import ADVERSARY_SEEDS
from heedful.measures import kendall_tau
from heedful.papers.charts import planes, strips
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Results
from heedful.papers.study_figures import Heading, study_figure
from heedful.report.figure import Figure

NAME = "attefa"
BILSTM, MLP, TRANSFORMER = "bilstm", "mlp", "transformer"
BY_LAMBDA, FUTURE, FUTURE_BY_LAMBDA = "by lambda", "future work", "future work, by lambda"
"""Roles: the base model with one adversary of Wiegreffe and Pinter's per lambda; what the paper leaves to others, as it
is and by lambda."""

SPARSE, DENSE = ("mock-1", "mock-2", "mock-5", "mock-10"), ("mock-1q", "mock-2q", "mock-3q", "mock-4q")
"""Mock sets with few informative words, and those in which a quarter of the words or more are; each in order."""
MOCKS = (*SPARSE, *DENSE)
REAL = ("sst2", "imdb", "ag_news", "newsgroups_sports")
LAMBDA_SETS = ("sst2", "imdb")
SETS = (*MOCKS, *REAL)
"""As the paper's tables order them."""

CAP, TVD, JS = "attefa.cap", "adversarial_models.tvd_{}".format, "adversarial_models.js_{}".format
NEEDED = (CAP, TVD(1))
MOST_ADVERSARIES = 9
"""Of a base model."""


def family_of(cell: Cell) -> Family:
    """The family of the cell's base model."""
    return families(cell.columns)[0]


def base_cells(results: Results) -> list[Cell]:
    """The cells with adversaries trained by AtteFa's loss: the paper's, then the variants it leaves to others."""
    own = sorted(results.select(*NEEDED), key=lambda cell: (SETS.index(cell.data), cell.encoder))
    return [*own, *results.select(*NEEDED, role=FUTURE)]


def lambda_cells(results: Results) -> list[Cell]:
    """The cells with an adversary for each lambda."""
    return results.select(*NEEDED, role=BY_LAMBDA)


def paper_cell(results: Results, data: str, encoder: str) -> Cell | None:
    """The cell of one of the paper's own models."""
    return results.find(*NEEDED, data=data, encoder=encoder)


def attefa_by_adversary(cell: Cell) -> Float[Tensor, "adversary text"]:
    """What AtteFa averages, text by text, for each adversary."""
    return torch.stack([_attefa(cell, number) for number in range(len(family_of(cell).seeds))])


def divergence_by_adversary(cell: Cell) -> Float[Tensor, "adversary text"]:
    """How far each adversary moved attention, text by text."""
    return torch.stack([_texts(cell, JS(number + 1)) for number in range(len(family_of(cell).seeds))])


def _attefa(cell: Cell, number: int) -> Float[Tensor, " text"]:
    """The TVD of an adversary, over its mean divergence: the mean over texts is its AtteFa (if below 1)."""
    return _texts(cell, TVD(number + 1)) * log(2) / family_of(cell).seeds[number].js


def _texts(cell: Cell, column: str) -> Float[Tensor, " text"]:
    """The column of the only base model."""
    return cell.columns[column][0]


Measure = Callable[[Results, str], Values | None]


def farthest_divergence(cell: Cell) -> Float[Tensor, "adversary text"]:
    """How far the adversary that moved attention the most on average did, as often as a model has adversaries."""
    by_adversary = divergence_by_adversary(cell)
    return by_adversary[by_adversary.nanmean(1).argmax()].repeat(MOST_ADVERSARIES, 1)


def attefa_values(results: Results, data: str, encoder: str) -> Float[Tensor, " adversary"] | None:
    """AtteFa of each adversary of one of the paper's own models; None if it was not attacked."""
    cell = paper_cell(results, data, encoder)
    return None if cell is None else attefa_by_adversary(cell).nanmean(1)


def trend_over_mocks(encoder: str) -> Measure:
    """Kendall's tau of AtteFa, negated, with the number of informative words, for each adversary's seed."""

    def measure(results: Results, data: str) -> Values | None:
        known = [values for mock in MOCKS if (values := attefa_values(results, mock, encoder)) is not None]
        if len(known) < len(MOCKS):
            return None
        by_seed = torch.stack([values[: min(map(len, known))] for values in known], dim=1)
        return -kendall_tau(torch.arange(len(MOCKS)).expand_as(by_seed), by_seed)[0].unsqueeze(1)

    return measure


def compared_with(
    encoder: str, others: Sequence[str], compare: Callable[[Tensor, Tensor], Tensor], reduce: Callable[[Tensor], Tensor]
) -> Measure:
    """AtteFa of each adversary compared with other sets', of which each seed is reduced to one number."""

    def measure(results: Results, data: str) -> Values | None:
        own = attefa_values(results, data, encoder)
        known = [values for other in others if (values := attefa_values(results, other, encoder)) is not None]
        if own is None or len(known) < len(others):
            return None
        seeds = min(map(len, (own, *known)))
        return compare(own[:seeds], reduce(torch.stack([values[:seeds] for values in known]))).unsqueeze(1)

    return measure


COLUMNS: Mapping[str, Callable[[Cell], Values]] = {
    "attefa": attefa_by_adversary,
    "jsd": divergence_by_adversary,
    "largest_jsd": farthest_divergence,
    "jsd_below_maximum": lambda cell: divergence_by_adversary(cell) - log(2),
}
MEASURES: Mapping[str, Measure] = {
    "trend_of_mlp": trend_over_mocks(MLP),
    "trend_of_bilstm": trend_over_mocks(BILSTM),
    "below_sparse_mocks": compared_with(MLP, SPARSE, lambda own, other: other - own, lambda values: values.amin(0)),
    "below_newsgroups": compared_with(
        MLP, ("newsgroups_sports",), lambda own, other: other - own, lambda values: values[0]
    ),
    "above_mean_mock": compared_with(BILSTM, MOCKS, lambda own, other: own - other, lambda values: values.mean(0)),
}


def remarks(results: Results) -> list[str]:
    """What became of the adversaries, as AtteFa means little of some; and what other temperatures did."""
    cells = base_cells(results)
    return [*(text for outcome, says in SAYS.items() if (text := _became(cells, outcome, says))), *_tempered(results)]


SAYS = {
    GAVE_UP: "They gave up, and predict nearly the same for every text: AtteFa says that they failed, not that "
    "attention is faithful",
    NO_BETTER: "They did not give up, but their loss is no lower than that of one answer to every text, so that AtteFa "
    "says no more",
    BETTER: "Their loss is lower than that of one answer to every text",
}
"""What becomes of adversaries, in words."""


def _became(cells: Sequence[Cell], outcome: str, says: str) -> str:
    """Of which cells adversaries came to this, and how many of how many."""
    counts = [(cell, family_of(cell).outcomes) for cell in cells]
    named = [
        f"{cell.data}, {cell.model} ({outcomes.count(outcome)} of {len(outcomes)})"
        for cell, outcomes in counts
        if outcome in outcomes
    ]
    return f"{says}: {'; '.join(named)}." if named else ""


def _tempered(results: Results) -> list[str]:
    """What AtteFa is at other temperatures, at which the paper expects more faithful attention, in a sentence."""
    tempered = [cell for cell in results.select(*NEEDED, role=FUTURE) if "temperature" in cell.method]
    pairs = [(cell, base) for cell in tempered if (base := paper_cell(results, cell.data, cell.encoder))]
    changes = [f"{cell.data}, {cell.model}: {_mean(cell)} instead of {_mean(base)}" for cell, base in pairs]
    expects = "At a lower temperature where informative words are rare, and at a higher one where they are frequent, "
    return (
        [f"{expects}the paper expects attention to be more faithful. AtteFa: {'; '.join(changes)}."] if changes else []
    )


def _mean(cell: Cell) -> str:
    return format_number(family_of(cell).mean, decimals=3)


PAPER = "Amini & Kosseim, {}".format
OTHER = "other encoder"


def figures(results: Results) -> list[Figure]:
    """Figures 1 and 2, redrawn from our rows, with the paper's numbers; and what Figure 1 does not show."""
    cells = base_cells(results)
    own = [cell for cell in cells if not cell.role]
    real = [cell for cell in own if cell.data in REAL]
    others = [cell for cell in cells if cell.role or cell.data in MOCKS]
    drawn = [cell for cell in own if cell.data in LAMBDA_SETS]
    return [
        *_over_seeds(
            Heading("figure_1", "AtteFa over the adversaries' seeds, real-life sets", PAPER("Figure 1")),
            [*map(_seeds, real), *map(_printed_seeds, real)],
        ),
        # A line by lambda has the color of its base model.
        *_plane(
            pl.concat([_frame([(cell.encoder, cell) for cell in drawn]), _printed_frame(drawn)]),
            _frame([(cell.encoder, cell) for cell in lambda_cells(results)]).sort("data", "series", "x"),
        ),
        *_over_seeds(
            Heading("mock_sets", "AtteFa over the adversaries' seeds, mock sets and variants", ""),
            list(map(_seeds, others)),
        ),
    ]


def _over_seeds(heading: Heading, frames: Sequence[pl.DataFrame]) -> list[Figure]:
    if not frames:
        return []
    frame = pl.concat(frames)
    described = "; ".join(f"{row}, {encoder}: {value:.2f}" for row, encoder, value in frame.rows())
    caption = (
        "Each point is an adversary, the tick their mean; near what one answer to every text scores (about .5 on "
        "balanced data), adversaries gave up."
    )
    paper = " Rows of the paper: its nine adversaries where they could be read from Table 5, else their mean."
    return [
        study_figure(
            heading,
            strips(frame, "AtteFa", [name for name in (BILSTM, MLP, OTHER) if name in frame["series"]], (0.0, 1.0)),
            caption=caption + (paper if heading.source else ""),
            alt=f"AtteFa of every adversary. {described}.",
        )
    ]


def _seeds(cell: Cell) -> pl.DataFrame:
    """A row for each adversary of a model: row (the data; of a variant its name, too), series (encoder), x (AtteFa)."""
    return pl.DataFrame(
        {
            "row": f"{cell.data}: {cell.model}" if cell.role else cell.data,
            "series": cell.encoder if cell.encoder in (BILSTM, MLP) else OTHER,
            "x": [member.attefa for member in family_of(cell).seeds],
        }
    )


def _printed_seeds(cell: Cell) -> pl.DataFrame:
    """The same of the paper's adversaries: each that we could read, else their mean."""
    place = {"data": cell.data, "model": cell.encoder}
    seeds = [number(NAME, item="Table 5", measure=f"attefa seed={seed}", **place) for seed in ADVERSARY_SEEDS]
    known = [seed for seed in seeds if seed is not None] or [_printed(cell, "attefa")]
    return pl.DataFrame({"row": f"{cell.data}, paper", "series": cell.encoder, "x": known})


def _plane(points: pl.DataFrame, curves: pl.DataFrame) -> list[Figure]:
    if points.is_empty():
        return []
    series = [BILSTM, MLP, *map(OF_PAPER, (BILSTM, MLP))]
    return [
        study_figure(
            Heading("figure_2", "How far the prediction moved, by how far attention moved", PAPER("Figure 2")),
            planes(points, curves, "JSD of attention (nats)", "TVD of the prediction", series),
            caption=(
                "Each point is an adversary: further down and to the right is better for it; of the paper's, the mean. "
                "The lines join adversaries trained by Wiegreffe and Pinter's loss, one for each lambda. TVD over one "
                "output unit, as printed. The paper draws the LSTM, also on Diabetes and Anemia."
            ),
            alt="Mean TVD at mean JSD of every adversary, a panel per dataset." + _ends(curves),
        )
    ]


OF_PAPER = "{}, paper".format
SCHEMA = {"data": pl.String, "series": pl.String, "x": pl.Float64, "y": pl.Float64}


def _frame(cells: Sequence[tuple[str, Cell]]) -> pl.DataFrame:
    """data, series, x (JSD) and y (TVD) of each adversary."""
    rows = [
        (cell.data, series, round(member.js, 4), round(member.unit_tvd, 4))
        for series, cell in cells
        for member in family_of(cell).seeds
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _printed_frame(cells: Sequence[Cell]) -> pl.DataFrame:
    """The same of the paper's adversaries, a mean for each cell."""
    rows = [
        (cell.data, OF_PAPER(cell.encoder), *(_printed(cell, measure) for measure in ("jsd", "tvd"))) for cell in cells
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _printed(cell: Cell, measure: str) -> float | None:
    return number(NAME, item="Table 3", data=cell.data, model=cell.encoder, measure=measure)


def _ends(curves: pl.DataFrame) -> str:
    ends = curves.group_by("data", "series", maintain_order=True).agg(
        first=pl.format("{} at {}", pl.col("y").first(), pl.col("x").first()),
        last=pl.format("{} at {}", pl.col("y").last(), pl.col("x").last()),
    )
    described = "; ".join(f"{data}, {model}: from {first} to {last}" for data, model, first, last in ends.rows())
    return f" By lambda: {described}." if described else ""
