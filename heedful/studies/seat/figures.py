"""The figures of Hu et al. (2023): heat maps under perturbations, seeds, the course of training; and certificates."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from heedful.report.figure import Figure
from heedful.studies.charts import curves, heat_maps
from heedful.studies.figures import by_largest_figure, claims_figure, measures_figure, study_figure
from heedful.studies.seat.tables import AGAINST, RADII, ending
from heedful.studies.study import Cell, Claim, Results

PAPER = "Hu et al. 2023, {}".format
READ_AS = {
    "attention": "as it is",
    "noisy_attention": "noise on a word",
    "replaced_attention": "a similar word",
    "seed_attention": "another seed",
}
DRAWN_ENCODER = "bilstm"
DRAWN = ("vanilla", "seat", "seat_all", "seat_code", "word_at", "attention_at")
"""As many methods as there are colours."""
SIDE_BY_SIDE = DRAWN[:5]
"""As many as fit beside each other."""
SHORTEST, LONGEST = 6, 12
"""Words of a text that is drawn as a heat map."""
COURSE = {"top_k_gap": "surrogate", "top_k_overlap": "top-7 overlap"}
RADIUS_STEPS = 40


def figures(results: Results, claims: Sequence[Claim]) -> list[Figure]:
    """Figures 1 to 5, what the tables show of stability, and what is certified."""
    beside_seeds = _only(results, lambda model: model.endswith(AGAINST("")))
    alone = _only(results, lambda model: "," not in model)
    encoders = dict.fromkeys(model.split()[0] for model in alone.models)
    return [
        *_heat_maps(_of_encoder(beside_seeds, DRAWN_ENCODER)),
        *(figure for encoder in encoders for figure in _seeds(_of_encoder(beside_seeds, encoder), encoder)),
        *_course(alone),
        *(figure for encoder in encoders for figure in _noise(_of_encoder(alone, encoder), encoder)),
        *claims_figure(
            [claim for claim in claims if "vanilla less" in claim.measured and "sufficiency" not in claim.measured],
            "steadier than vanilla by",
            name="steadier",
            title="Stable attention less vanilla",
            source=PAPER("Tables 1 and 3"),
        ),
        *_certified(alone),
    ]


def _only(results: Results, is_wanted: Callable[[str], bool]) -> Results:
    return replace(results, cells={key: cell for key, cell in results.cells.items() if is_wanted(cell.model)})


def _of_encoder(results: Results, encoder: str) -> Results:
    """The cells with that encoder, called by the method alone."""
    cells = {}
    for (data, model), cell in results.cells.items():
        method = model.partition(",")[0].removeprefix(f"{encoder} ")
        if model.startswith(f"{encoder} "):
            cells[data, method] = replace(cell, model=method)
    return replace(results, cells=cells)


def _seeds(results: Results, encoder: str) -> list[Figure]:
    return by_largest_figure(
        results,
        "seeds.max_js",
        "largest JSD to another seed",
        name=f"figure_2_{encoder}",
        title=f"Seeds, {encoder}",
        source=PAPER("Figure 2"),
    )


def _noise(results: Results, encoder: str) -> list[Figure]:
    return measures_figure(
        _only(results, lambda method: method in SIDE_BY_SIDE),
        {f"embedding_attack.js_answer{ending(RADII, radius)}": f"{radius:g}" for radius in RADII},
        "JSD of attention under the attack, by its radius",
        name=f"noise_{encoder}",
        title=f"Noise on embeddings, {encoder}",
        source=PAPER("Tables 1 and 8"),
    )


def _heat_maps(results: Results) -> list[Figure]:
    """One text of each data set, the first that is short enough, as each model reads it under each perturbation."""
    found = []
    for data in results.datasets:
        cells = [cell for cell in results.cells.values() if cell.data == data and not cell.shown.is_empty()]
        example = _short_text(cells[0]) if cells else None
        if example is not None:
            found.append(_heat_map(pl.concat([_map(cell, example) for cell in cells]), data))
    return found


def _short_text(cell: Cell) -> int | None:
    """The first text that is drawn word by word, is short, and in which a word was replaced."""
    texts = (
        cell.shown.filter(measure="attention")
        .group_by("example")
        .agg(words=pl.len(), replaced=(pl.col("word") != pl.col("replaced")).any())
    )
    short = texts.filter(pl.col("words").is_between(SHORTEST, LONGEST) & pl.col("replaced"))["example"]
    return None if short.is_empty() else int(short.sort()[0])


def _map(cell: Cell, example: int) -> pl.DataFrame:
    """model, read (how the text was read), place, word, weight, and whether the word was touched, of one text."""
    text = cell.shown.filter(pl.col("example") == example)
    rows = text.filter(pl.col("measure").is_in(list(READ_AS)))
    similar, noisy = pl.col("measure") == "replaced_attention", pl.col("measure") == "noisy_attention"
    noise_on = text.filter(measure="noisy", value=1.0)["item"].to_list()
    return rows.select(
        pl.lit(cell.model).alias("model"),
        pl.col("measure").replace_strict(READ_AS, return_dtype=pl.String).alias("read"),
        pl.col("item").alias("place"),
        pl.when(similar).then("replaced").otherwise("word").alias("word"),
        pl.col("value").round(4).alias("weight"),
        ((similar & (pl.col("word") != pl.col("replaced"))) | (noisy & pl.col("item").is_in(noise_on))).alias(
            "touched"
        ),
    )


def _heat_map(frame: pl.DataFrame, data: str) -> Figure:
    top = frame.sort("weight", descending=True).group_by("model", "read", maintain_order=True).first()
    said = "; ".join(f"{model}, {read}: {word} {weight:.2f}" for model, read, _, word, weight, _ in top.rows())
    return study_figure(
        name=f"heat_{data}",
        title=f"A text under three perturbations, {data}, {DRAWN_ENCODER}",
        source=PAPER("Figures 1, 3 and 4"),
        caption=(
            f"Attention of each model (seed 0) to the first test text of {SHORTEST} to {LONGEST} words "
            f"that the audit shows: as it is, with Gaussian noise of variance {RADII[-1]:g} on one word, with one "
            "word replaced by its nearest neighbour, and of the same model from another seed. "
            "The colour is the weight, from 0 to 1; a line marks the word that was touched."
        ),
        alt=f"Heat maps. Most attended: {said}.",
        chart=heat_maps(frame, list(READ_AS.values())),
    )


def _course(results: Results) -> list[Figure]:
    """The surrogate and the true overlap, epoch by epoch, of the model that is trained by the whole loss."""
    parts = []
    for cell in results.cells.values():
        if cell.model.endswith((" seat", " seat_all")) and cell.history:
            rows = pl.concat(cell.history).filter(pl.col("measure").is_in(list(COURSE)))
            means = rows.group_by("epoch", "split", "measure", maintain_order=True).agg(y=pl.col("value").mean())
            encoder, _, method = cell.model.partition(" ")
            parts.append(
                means.select(
                    pl.format("{}, {}", pl.lit(cell.data), pl.lit(encoder)).alias("data"),
                    pl.format("{}, {}", pl.lit(method), "split").alias("series"),
                    pl.col("epoch").alias("x"),
                    "y",
                    "measure",
                )
            )
    if not parts:
        return []
    frame = pl.concat(parts)
    return [_course_of(frame, measure, name) for measure, name in COURSE.items()]


def _course_of(frame: pl.DataFrame, measure: str, name: str) -> Figure:
    own = frame.filter(measure=measure).drop("measure")
    series = sorted(own["series"].unique())
    last = own.sort("x").group_by("data", "series", maintain_order=True).last()
    said = "; ".join(f"{data}, {kind}: {y:.2g} after {x} epochs" for data, kind, x, y in last.rows())
    return study_figure(
        name=f"figure_5_{measure}",
        title=f"The {name} along training",
        source=PAPER("Figure 5"),
        caption="Means over texts and seeds: on training texts as they are trained on, on others after the epoch.",
        alt=f"Curves over epochs. {said}.",
        chart=curves(own, "epoch", name, series, columns=3),
    )


def _certified(results: Results) -> list[Figure]:
    """The share of texts that are certified up to each radius, model by model."""
    parts = []
    for cell in results.having("certificate.linf_simplex"):
        encoder, _, method = cell.model.partition(" ")
        if method not in DRAWN:
            continue
        radius = cell.columns["certificate.linf_simplex"].flatten()
        radius = radius[~radius.isnan()]
        xs = [step / RADIUS_STEPS for step in range(RADIUS_STEPS + 1)]
        shares = [round(float((radius >= x).double().mean()), 4) for x in xs]
        place = pl.DataFrame({"x": xs, "y": shares})
        parts.append(
            place.select(pl.lit(f"{cell.data}, {encoder}").alias("data"), pl.lit(method).alias("series"), "x", "y")
        )
    if not parts:
        return []
    frame = pl.concat(parts)
    half = frame.filter(x=0.1).rows()
    said = "; ".join(f"{data}, {method}: {y:.2f}" for data, method, _, y in half)
    return [
        study_figure(
            name="certified",
            title="Decisions that are certain",
            source="Not in the paper",
            caption=(
                "Share of texts in which no other attention, as long as no weight differs by more than the radius, "
                "changes the decision: exact."
            ),
            alt=f"Falling curves. Shares at radius 0.1: {said}.",
            chart=curves(
                frame,
                "radius (largest change of a weight)",
                "share",
                DRAWN,
                columns=3,
                dots=False,
            ),
        )
    ]
