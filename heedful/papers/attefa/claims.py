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
from heedful.papers.charts import planes, strips
from heedful.papers.claim_rule import Part, judge_claims, paired, part_of
from heedful.papers.published import number
from heedful.papers.reproduction import Cell, Claim, Results
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


TWO_CLUSTERS = ("mock-1q", "mock-2q")
"""Sets on which, by our reading, the adversaries of the MLP form two clusters."""
BUMP = ("mock-5", "mock-10")
"""Neighbours between which the paper itself sees AtteFa rise."""


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    mlps = {data: cell for data in MOCKS if (cell := paper_cell(results, data, MLP)) is not None}
    parts = {
        "context_less_faithful": _mlp_minus_bilstm(results, attefa_by_adversary),
        "context_less_faithful_by_best": _mlp_minus_bilstm(results, best_attefa),
        "falls_with_informative_words": _sparse_minus_dense(mlps),
        "moves_attention_as_far_as_lambda": _farther_than_lambda(results),
    }
    for data in TWO_CLUSTERS:
        distances = {data: part_of(distance_between_clusters(mlps[data]), mlps[data])} if data in mlps else {}
        parts[f"two_clusters_of_seeds_{data.replace('-', '_')}"] = distances
    return judge_claims(NAME, parts)


def _mlp_minus_bilstm(results: Results, measure: Callable[[Cell], Values]) -> dict[str, Part]:
    """By data set; behind each are as many trainings as the smaller of the two families has adversaries."""
    parts = {}
    for data in results.datasets:
        mlp, bilstm = paper_cell(results, data, MLP), paper_cell(results, data, BILSTM)
        if mlp is not None and bilstm is not None:
            parts[data] = _compared(measure, mlp, bilstm)
    return parts


def _sparse_minus_dense(mlps: dict[str, Cell]) -> dict[str, Part]:
    """Sets with few informative words paired in order with sets with many; and the paper's own exception."""
    sparse, dense = ([data for data in sets if data in mlps] for sets in (SPARSE, DENSE))
    pairs = [*zip(sparse, dense, strict=False), *([BUMP] if all(data in mlps for data in BUMP) else [])]
    return {f"{rarer} - {denser}": _compared(attefa_by_adversary, mlps[rarer], mlps[denser]) for rarer, denser in pairs}


def _farther_than_lambda(results: Results) -> dict[str, Part]:
    parts = {}
    for cell in lambda_cells(results):
        base = paper_cell(results, cell.data, cell.encoder)
        if base is not None:
            # Its adversaries differ in lambda, not in the seed: their mean is what each of ours is compared with.
            by_lambda = divergence_by_adversary(cell).mean(0)
            parts[f"{cell.data}, {cell.encoder}"] = part_of(divergence_by_adversary(base) - by_lambda, base)
    return parts


def _compared(measure: Callable[[Cell], Values], cell: Cell, other: Cell) -> Part:
    difference = part_of(paired(measure(cell), measure(other)), cell, other)
    fewest = min(len(family_of(each).seeds) for each in (cell, other))
    return Part(difference.values, difference.beats_constant, trainings=fewest)


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


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
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
