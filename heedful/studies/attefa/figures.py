"""The figures of Amini and Kosseim: AtteFa over seeds, and adversaries in the plane of answers and attention moved."""

import polars as pl

from heedful.battery.attefa_family import Family
from heedful.battery.questions import families
from heedful.report.figure import Figure
from heedful.studies.charts import planes, strips
from heedful.studies.figures import study_figure
from heedful.studies.study import Cell, Results

MODELS = {"bilstm": "bilstm", "mlp": "average"}
"""The paper's models, and their encoders."""
BY_LAMBDA = ", by lambda"
"""What stands behind a model's name where its adversaries are Wiegreffe and Pinter's, one for each lambda."""


def family_of(cell: Cell) -> Family:
    """The family of the cell's base model."""
    return families(cell.columns)[0]


def base_cells(results: Results) -> list[Cell]:
    """The cells with adversaries by AtteFa's loss."""
    cells = results.having("attefa.cap", "adversaries.tvd_1")
    return [cell for cell in cells if not cell.model.endswith(BY_LAMBDA)]


def lambda_cells(results: Results) -> list[tuple[str, Cell]]:
    """The cells with adversaries by lambda, each with the name of its model."""
    cells = results.having("attefa.cap", "adversaries.tvd_1")
    return [(cell.model.removesuffix(BY_LAMBDA), cell) for cell in cells if cell.model.endswith(BY_LAMBDA)]


def figures(results: Results) -> list[Figure]:
    """Figures 1 and 2, redrawn from our rows."""
    frame = _frame([(cell.model, cell) for cell in base_cells(results)])
    if frame.is_empty():
        return []
    plain = frame.filter(pl.col("series").is_in(list(MODELS)))
    curves = _frame(lambda_cells(results)).sort("data", "series", "x") if lambda_cells(results) else plain.clear()
    said = "; ".join(f"{data}, {model}: {value:.2f}" for data, model, _, _, value in frame.rows())
    return [
        study_figure(
            name="figure_1",
            title="AtteFa over the adversaries' seeds",
            source="Amini & Kosseim, Figure 1",
            caption="Each point an adversary, the tick their mean. Two heaps mean that some adversaries gave up.",
            alt=f"AtteFa of every adversary. {said}.",
            chart=strips(frame.drop("x").rename({"attefa": "x"}), "AtteFa", list(dict.fromkeys(frame["series"]))),
        ),
        study_figure(
            name="figure_2",
            title="Moved answers against moved attention",
            source="Amini & Kosseim, Figure 2",
            caption=(
                "Each point an adversary: down and to the right it wins. The lines join adversaries of Wiegreffe and "
                "Pinter's loss, one for each lambda. TVD over one output unit, as printed."
            ),
            alt="Mean TVD at mean JSD of every adversary, a panel a data set." + _ends(curves),
            chart=planes(plain, curves, "JSD (nats)", "TVD", list(MODELS)),
        ),
    ]


def _frame(cells: list[tuple[str, Cell]]) -> pl.DataFrame:
    """data, series (the model), x (JSD), y (TVD) and attefa of each adversary."""
    rows = [
        (cell.data, model, round(one.js, 4), round(one.unit_tvd, 4), one.attefa)
        for model, cell in cells
        for one in family_of(cell).seeds
    ]
    return pl.DataFrame(rows, schema=["data", "series", "x", "y", "attefa"], orient="row")


def _ends(curves: pl.DataFrame) -> str:
    ends = curves.group_by("data", "series", maintain_order=True).agg(
        first=pl.format("{} at {}", pl.col("y").first(), pl.col("x").first()),
        last=pl.format("{} at {}", pl.col("y").last(), pl.col("x").last()),
    )
    said = "; ".join(f"{data}, {model}: from {first} to {last}" for data, model, first, last in ends.rows())
    return f" By lambda: {said}." if said else ""
