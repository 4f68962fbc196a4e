"""The figures of Amini and Kosseim: AtteFa over seeds, and adversaries by how far prediction and attention moved."""

from collections.abc import Mapping, Sequence

import polars as pl

from heedful.papers.attefa.columns import BILSTM, MLP, base_cells, family_of, lambda_cells
from heedful.papers.charts import planes, strips
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.study_figures import Heading, study_figure
from heedful.report.figure import Figure

PAPER = "Amini & Kosseim, {}".format
OTHER = "other encoder"


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 1 and 2, redrawn from our rows."""
    cells = base_cells(results)
    if not cells:
        return []
    return [
        _over_seeds(pl.concat([_seeds(cell) for cell in cells])),
        # A line by lambda has the color of its base model.
        _plane(
            _frame([(cell.encoder, cell) for cell in cells if not cell.role]),
            _frame([(cell.encoder, cell) for cell in lambda_cells(results)]).sort("data", "series", "x"),
        ),
    ]


def _over_seeds(frame: pl.DataFrame) -> Figure:
    described = "; ".join(f"{row}, {encoder}: {value:.2f}" for row, encoder, value in frame.rows())
    return study_figure(
        Heading("figure_1", "AtteFa over the adversaries' seeds", PAPER("Figure 1")),
        strips(frame, "AtteFa", [name for name in (BILSTM, MLP, OTHER) if name in frame["series"]], (0.0, 1.0)),
        caption=(
            "Each point is an adversary, the tick their mean. Two clusters mean that some adversaries gave up. Rows "
            "with a model's name are variants that the paper leaves to future work."
        ),
        alt=f"AtteFa of every adversary. {described}.",
    )


def _seeds(cell: Cell) -> pl.DataFrame:
    """A row for each adversary of a model: row (the data; of a variant its name, too), series (encoder), x (AtteFa)."""
    return pl.DataFrame(
        {
            "row": f"{cell.data}: {cell.model}" if cell.role else cell.data,
            "series": cell.encoder if cell.encoder in (BILSTM, MLP) else OTHER,
            "x": [member.attefa for member in family_of(cell).seeds],
        }
    )


def _plane(points: pl.DataFrame, curves: pl.DataFrame) -> Figure:
    return study_figure(
        Heading("figure_2", "How far the prediction moved, by how far attention moved", PAPER("Figure 2")),
        planes(points, curves, "JSD of attention (nats)", "TVD of the prediction", [BILSTM, MLP]),
        caption=(
            "Each point is an adversary: further down and to the right is better for it. The lines join adversaries "
            "trained by Wiegreffe and Pinter's loss, one for each lambda. TVD over one output unit, as printed."
        ),
        alt="Mean TVD at mean JSD of every adversary, a panel per data set." + _ends(curves),
    )


def _frame(cells: Sequence[tuple[str, Cell]]) -> pl.DataFrame:
    """data, series, x (JSD) and y (TVD) of each adversary."""
    rows = [
        (cell.data, series, round(member.js, 4), round(member.unit_tvd, 4))
        for series, cell in cells
        for member in family_of(cell).seeds
    ]
    schema = {"data": pl.String, "series": pl.String, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _ends(curves: pl.DataFrame) -> str:
    ends = curves.group_by("data", "series", maintain_order=True).agg(
        first=pl.format("{} at {}", pl.col("y").first(), pl.col("x").first()),
        last=pl.format("{} at {}", pl.col("y").last(), pl.col("x").last()),
    )
    described = "; ".join(f"{data}, {model}: from {first} to {last}" for data, model, first, last in ends.rows())
    return f" By lambda: {described}." if described else ""
