"""What Hu et al. (2023) say about their method, tested: as the paper defines it and as its code trains it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl
import torch
from torch.nn.functional import softplus

from heedful.battery.question import Values
from heedful.battery.stability_measures import suffixes
from heedful.papers.charts import curves, heat_maps
from heedful.papers.claim_rule import mean_of_models, paired
from heedful.papers.reproduction import MINILM, Cell, Results
from heedful.papers.study_figures import Heading, by_largest_figure, measures_figure, study_figure
from heedful.report.figure import Figure

NAME = "seat"
VANILLA, SEAT, SEAT_ALL, SEAT_CODE = "vanilla", "seat", "seat_all", "seat_code"
BASELINES = ("word_at", "word_iat", "attention_rp", "attention_at", "attention_iat")
WITHOUT_STABILITY, WITHOUT_TOPK = "seat_code without stability", "word_at"
"""Ablations of what the repository trains: without its top-k term it is adversarial training on words."""
OTHER_SEEDS, SENSITIVITY, ALL_TEXTS, CLAMPED, DEFINITION = (
    "other seeds",
    "sensitivity",
    "all test texts",
    "clamped",
    "definition",
)
"""Roles: the model with another seed, drawn as heat maps; its sensitivity, searched on fewer texts than the rest; all
test texts, each seed compared with the others; attacked with the clamp of the code; `seat` at another start, radius or
weight."""

CODE_RADIUS = 0.003125
"""Of the attack that the published code, as far as it shows, puts to all methods but vanilla."""
RADII = (0.001, CODE_RADIUS, 0.005, 0.01, 0.05)
TRAINING_RADIUS = 0.01
"""Of the embeddings, in training: that of the repository's commands and of the paper's ablations."""
WORDS = (1, 2, 3)

CORRECT, LARGEST, ITEMS = "prediction.correct", "prediction.max_attention", "prediction.items"
ATTACK, ATTACK_TVD = "embedding_attack.js_answer", "embedding_attack.tvd_answer"
DROP = "embedding_attack.drop_answer"
NOISE, REPLACED = "embedding_noise.js", "word_substitution.js"
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
SUFFICIENCY = "comprehensiveness_sufficiency.sufficiency_{}".format
EMPTIED = "comprehensiveness_sufficiency.emptied"
SENSITIVITY_AREA = "sensitivity.auc_{}".format
OVERLAP, TO_COMPANION = "seeds.overlap", "seeds.max_js"
CERTIFICATE = "certificate.{}_simplex".format


def suffix(settings: Sequence[int | float], setting: int | float) -> str:
    """What follows a measure's name at one of the radii, or numbers of words, that were asked for.

    >>> suffix(RADII, 0.001), suffix(RADII, 0.05)
    ('', '_0.05')
    """
    return next(ending for ending, value in suffixes(settings).items() if value == setting)


def trained_at(radius: float) -> str:
    """The role of a method that was trained at this radius."""
    return f"trained at {radius:g}"


def clamped_radii(method: str) -> tuple[float, ...]:
    """The radii of the attack on this method in the published code: vanilla's as printed, all others' the same."""
    return tuple(radius for radius in RADII if (radius == CODE_RADIUS) != (method == VANILLA))


def printed_tvd(cell: Cell, column: str) -> Values | None:
    """What the paper prints as TVD of this model, reconstructed from how much less likely the decision has become.

    For all methods but vanilla, the sum over a batch of |dp| / 2. For vanilla, that of softplus(p') - p p', a
    cross-entropy that takes the new probability for a logit: 16 for a batch in which nothing moves, if the model is
    certain of every text and half of them belong to each class. None where it was not measured, and for vanilla BERT,
    whose printed numbers fit neither.
    """
    drop = cell.columns.get(column)
    if drop is None or (cell.method == VANILLA and cell.encoder == MINILM):
        return None
    if cell.method != VANILLA:
        return _batch(cell) * drop.abs() / 2
    confidence, positive = cell.columns["prediction.probability"], cell.columns["prediction.predicted"] == 1
    before = torch.where(positive, confidence, 1 - confidence)
    after = torch.where(positive, before - drop, before + drop)
    return _batch(cell) * (softplus(after) - before * after)


def _batch(cell: Cell) -> int:
    """Texts per batch, over which the paper's numbers are sums."""
    return 8 if cell.encoder == MINILM else 32


def printed_comprehensiveness(cell: Cell) -> Values | None:
    """What the paper prints as comprehensiveness: its code empties all words, and sums |dp| / 2 over a batch."""
    emptied = cell.columns.get(EMPTIED)
    return None if emptied is None else _batch(cell) * emptied.abs() / 2


def largest_relative_to_uniform(cell: Cell) -> Values:
    """The largest weight of a text over the uniform weight: 1 where all words have the same."""
    return cell.columns[LARGEST] * cell.columns[ITEMS]


LEAST = 1e-12
"""A change below it is rounding."""


ENCODERS = ("rnn", "bilstm")
"""The paper's encoders; the third is a fine-tuned BERT."""
PRINTED_OVERLAP, DISTINCT = 0.93, 1.5
"""The paper's overlap of top words; and uniform weights that the largest weight must exceed, by our reading."""
CHANGES = (ATTACK, ATTACK_TVD, NOISE, REPLACED)
LOWER = (SUFFICIENCY("attention"), SENSITIVITY_AREA("attention"))
"""Measures of which a smaller value is better."""


def _powers_of_ten(name: str) -> Callable[[Cell], Values]:
    return lambda cell: cell.columns[name].clamp_min(LEAST).log10()


COLUMNS: Mapping[str, Callable[[Cell], Values]] = {
    **{
        f"log10 {name}{ending}": _powers_of_ten(f"{name}{ending}")
        for name in CHANGES
        for ending in ("", *(f"_{radius:g}" for radius in RADII[1:]))
    },
    "overlap_beyond_printed": lambda cell: cell.columns[OVERLAP] - PRINTED_OVERLAP,
    "largest_beyond_uniform": lambda cell: largest_relative_to_uniform(cell) - DISTINCT,
}


def _beyond_best(method: str, name: str, sign: float) -> Callable[[Results, str], Values | None]:
    """How much better the method is than the baseline that is best on average, encoder by encoder.

    Args:
        sign: 1 if a larger value is better, else -1.
    """
    column, role = name.removeprefix("log10 "), SENSITIVITY if name == SENSITIVITY_AREA("attention") else ""

    def values(results: Results, data: str, encoder: str, method: str) -> Values | None:
        cell = results.find(column, data=data, encoder=encoder, method=method, role=role)
        return None if cell is None else sign * (COLUMNS[name](cell) if name in COLUMNS else cell.columns[column])

    def measure(results: Results, data: str) -> Values | None:
        differences = []
        for encoder in ENCODERS:
            own = values(results, data, encoder, method)
            rivals = [each for rival in BASELINES if (each := values(results, data, encoder, rival)) is not None]
            if own is not None and rivals:
                differences.append(paired(own, max(rivals, key=lambda each: each.nanmean().item())))
        return mean_of_models(differences)

    return measure


MEASURES = {
    f"best baseline - {method}: {name}": _beyond_best(method, name, -1.0)
    for method in (SEAT, SEAT_CODE)
    for name in (*(each for each in COLUMNS if each.startswith("log10 ")), *LOWER)
} | {
    f"{method} - best baseline: {COMPREHENSIVENESS('attention')}": _beyond_best(
        method, COMPREHENSIVENESS("attention"), 1.0
    )
    for method in (SEAT, SEAT_CODE)
}


# Heat maps of texts under three perturbations, after Figures 1, 3 and 4 of Hu et al. (2023).

PAPER = "Hu et al. 2023, {}".format
READ_AS = {
    "attention": "none",
    "noisy_attention": "noise on a word",
    "replaced_attention": "a similar word",
    "seed_attention": "another seed",
}
DRAWN_ENCODER = "bilstm"
SHORTEST, LONGEST = 6, 12
"""Words of a text that is drawn as a heat map."""
NOT_DRAWN = ("tweeteval_hate",)
"""Sets whose texts insult people: no page need repeat them."""


def heat_map_figures(results: Results) -> list[Figure]:
    """A text of each data set but hateful ones, the first short enough, as each model reads it when perturbed."""
    figures = []
    for data in (name for name in results.datasets if name not in NOT_DRAWN):
        cells = results.select(data=data, encoder=DRAWN_ENCODER, role=OTHER_SEEDS)
        cells = [cell for cell in cells if not cell.shown.is_empty()]
        example = _short_text(cells[0]) if cells else None
        if example is not None:
            figures.append(_heat_map(pl.concat([_weights(cell, example) for cell in cells]), data))
    # One explanation is enough for figures that follow each other.
    return [*figures[:1], *(replace(figure, caption="As above.") for figure in figures[1:])]


def _short_text(cell: Cell) -> int | None:
    """The first text that is shown word by word, is short, and in which a word was replaced."""
    texts = (
        cell.shown.filter(measure="attention")
        .group_by("example")
        .agg(words=pl.len(), replaced=(pl.col("word") != pl.col("replaced")).any())
    )
    short = texts.filter(pl.col("words").is_between(SHORTEST, LONGEST) & pl.col("replaced"))["example"]
    return None if short.is_empty() else int(short.sort()[0])


def _weights(cell: Cell, example: int) -> pl.DataFrame:
    """model, read (how the text was read), place, word, weight, and whether the word was perturbed, of one text."""
    text = cell.shown.filter(pl.col("example") == example)
    rows = text.filter(pl.col("measure").is_in(list(READ_AS)))
    is_similar, is_noisy = pl.col("measure") == "replaced_attention", pl.col("measure") == "noisy_attention"
    noise_on = text.filter(measure="noisy", value=1.0)["item"].to_list()
    is_replaced = is_similar & (pl.col("word") != pl.col("replaced"))
    return rows.select(
        pl.lit(cell.method).alias("model"),
        pl.col("measure").replace_strict(READ_AS, return_dtype=pl.String).alias("read"),
        pl.col("item").alias("place"),
        pl.when(is_similar).then("replaced").otherwise("word").alias("word"),
        pl.col("value").round(4).alias("weight"),
        (is_replaced | (is_noisy & pl.col("item").is_in(noise_on))).alias("perturbed"),
    )


def _heat_map(frame: pl.DataFrame, data: str) -> Figure:
    top = frame.sort("weight", descending=True).group_by("model", "read", maintain_order=True).first()
    described = "; ".join(f"{model}, {read}: {word} {weight:.2f}" for model, read, _, word, weight, _ in top.rows())
    title = f"A text under three perturbations, {data}, {DRAWN_ENCODER}"
    return study_figure(
        Heading(f"heat_{data}", title, PAPER("Figures 1, 3 and 4")),
        heat_maps(frame, list(READ_AS.values())),
        caption=(
            f"Attention (seed 0) to the first text of {SHORTEST} to {LONGEST} words that the audit shows: as it is; "
            f"with Gaussian noise of variance {RADII[-1]:g} on a word; with a word replaced by the nearest one by the "
            "pretrained vectors (GloVe); and from another seed. Color: the weight, from 0 to 1; underlined: the "
            "perturbed word."
        ),
        alt=f"Heat maps. Most attended: {described}.",
    )


DRAWN = (VANILLA, SEAT, SEAT_ALL, SEAT_CODE, "word_at", "attention_at")
"""As many methods as there are colors."""
SIDE_BY_SIDE = DRAWN[:5]
SEEDS_DRAWN = (VANILLA, SEAT, SEAT_CODE)
"""As many as fit next to each other."""
LOGGED = {"top_k_gap": "surrogate", "top_k_overlap": "top-7 overlap"}
RADIUS_STEPS = 40
DESCRIBED_RADIUS = 0.1


def figures(results: Results) -> list[Figure]:
    """Figures 1 to 5, what the tables show of stability, and what is certified."""
    encoders = dict.fromkeys(cell.encoder for cell in results.cells)
    return [
        *heat_map_figures(results),
        *(figure for encoder in encoders for figure in _seeds(results, encoder)),
        *_training(results),
        *(figure for encoder in encoders for figure in _noise(results, encoder)),
        *_certified(results),
    ]


def _seeds(results: Results, encoder: str) -> list[Figure]:
    """Split by label, as in the paper: what the texts of the other label have is left out."""
    cells = [
        replace(
            cell,
            model=f"{cell.method}, {cell.runs[0].labels[label]}",
            columns={
                name: cell.columns[name].where(cell.columns["prediction.label"] == label, torch.nan)
                for name in (TO_COMPANION, LARGEST)
            },
        )
        for cell in results.select(TO_COMPANION, LARGEST, encoder=encoder, role=ALL_TEXTS)
        if cell.method in SEEDS_DRAWN
        for label in (0, 1)
    ]
    heading = Heading(f"figure_2_{encoder}", f"Seeds, {encoder}", PAPER("Figure 2"))
    return by_largest_figure(cells, TO_COMPANION, "largest JSD to another seed", heading)


def _noise(results: Results, encoder: str) -> list[Figure]:
    cells = [cell for cell in results.select(encoder=encoder) if cell.method in SIDE_BY_SIDE]
    columns = {f"{ATTACK}{suffix(RADII, radius)}": f"{radius:g}" for radius in RADII}
    cells = [replace(cell, columns=_powers(cell, columns)) for cell in cells]
    axis = "JSD of attention under the attack, in powers of ten"
    heading = Heading(f"noise_{encoder}", f"Noise on embeddings, {encoder}", PAPER("Tables 1 and 8"))
    return measures_figure(_named_by_method(cells), columns, axis, heading, rows="radius of the attack")


def _powers(cell: Cell, columns: Iterable[str]) -> dict[str, Values]:
    """These columns of the cell in powers of ten: on a linear axis the smaller radii would all be 0."""
    return {name: cell.columns[name].clamp_min(LEAST).log10() for name in columns if name in cell.columns}


def _named_by_method(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of one encoder, called by the method alone: panels are small."""
    return [replace(cell, model=cell.method) for cell in cells]


def _training(results: Results) -> list[Figure]:
    """The surrogate and the true overlap, epoch by epoch, of the models trained by the whole loss."""
    cells = [cell for cell in results.select() if cell.method in (SEAT, SEAT_ALL) and cell.history]
    if not cells:
        return []
    frame = pl.concat([_training_curves(cell) for cell in cells])
    return [_training_figure(frame, measure, name) for measure, name in LOGGED.items()]


def _training_curves(cell: Cell) -> pl.DataFrame:
    """data, series (method and split), x (epoch), y (mean over seeds) and measure."""
    rows = pl.concat(cell.history).filter(pl.col("measure").is_in(list(LOGGED)))
    means = rows.group_by("epoch", "split", "measure", maintain_order=True).agg(y=pl.col("value").mean())
    return means.select(
        pl.lit(f"{cell.data}, {cell.encoder}").alias("data"),
        pl.format("{}, {}", pl.lit(cell.method), "split").alias("series"),
        pl.col("epoch").alias("x"),
        "y",
        "measure",
    )


def _training_figure(frame: pl.DataFrame, measure: str, name: str) -> Figure:
    own = frame.filter(measure=measure).drop("measure")
    series = sorted(own["series"].unique())
    last = own.sort("x").group_by("data", "series", maintain_order=True).last()
    described = "; ".join(f"{data}, {kind}: {y:.2g} after {x} epochs" for data, kind, x, y in last.rows())
    return study_figure(
        Heading(f"figure_5_{measure}", f"The {name} during training", PAPER("Figure 5")),
        curves(own, "epoch", name, series),
        caption="Means over texts and seeds: on training texts as they are trained on, on others after the epoch.",
        alt=f"Curves over epochs. {described}.",
    )


def _certified(results: Results) -> list[Figure]:
    """The share of texts that are certified up to each radius, model by model."""
    cells = [cell for cell in results.select(CERTIFICATE("linf"), role=ALL_TEXTS) if cell.method in DRAWN]
    if not cells:
        return []
    frame = pl.concat([_certified_curve(cell, cell.columns[CERTIFICATE("linf")]) for cell in cells])
    described = "; ".join(
        f"{data}, {method}: {y:.2f}" for data, method, _, y in frame.filter(x=DESCRIBED_RADIUS).rows()
    )
    return [
        study_figure(
            Heading("certified", "Certified decisions", "Not in the paper"),
            curves(frame, "radius (largest change of a weight)", "share of texts certified", DRAWN, dots=False),
            caption=(
                "Share of texts in which no other attention changes the decision, as long as no weight differs by "
                "more than the radius: exact."
            ),
            alt=f"Falling curves. Shares at radius {DESCRIBED_RADIUS}: {described}.",
        )
    ]


def _certified_curve(cell: Cell, radius: Values) -> pl.DataFrame:
    """data, series (the method), x (radius) and y (the share of texts certified up to it)."""
    certified = radius[~radius.isnan()]
    xs = [step / RADIUS_STEPS for step in range(RADIUS_STEPS + 1)]
    shares = [round(float((certified >= x).double().mean()), 4) for x in xs]
    return pl.DataFrame({"x": xs, "y": shares}).select(
        pl.lit(f"{cell.data}, {cell.encoder}").alias("data"), pl.lit(cell.method).alias("series"), "x", "y"
    )
