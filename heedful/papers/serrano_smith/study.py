"""Serrano and Smith (2019), Is Attention Interpretable?: erasing single weights and sets of weights."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from heedful.battery.question import Columns, Values
from heedful.jobs.planning import RunWithBase
from heedful.papers.charts import LINEAR, histograms, scatter
from heedful.papers.claim_rule import Part, entry, judge_claims, only_where, paired, part_of, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import (
    NEVER_EARLY,
    NORMAL_START,
    Cell,
    Claim,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    study_file,
)
from heedful.papers.study_figures import Heading, measures_figure, study_figure, text_frame
from heedful.report.drawing import axis_ends
from heedful.report.figure import Figure
from heedful.schema.rankings import ranking_title
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings

NAME = "serrano_smith"
HIERARCHICAL, FLAT = "hierarchical", "flat"
SHAPES = {"imdb_ratings": (HIERARCHICAL, FLAT), "newsgroups_20": (HIERARCHICAL, FLAT), "dbpedia14_small": (FLAT,)}
"""The models of each set: a text of DBpedia has two or three sentences, too few for attention over sentences."""

RNN, CONV, NONE = "rnn", "conv", "none"

TOPS = ("attention", "weight_gradient", "attention_x_gradient")
RANKINGS = {name: ranking_title(name) for name in ("random", *TOPS)}
RANKINGS |= {"weight_gradient": "gradient", "minimal": "smallest set"}
"""What items are erased by, and what tables and figures call it."""

FRACTION, MASS = "erase_until_flip.fraction_{}".format, "erase_until_flip.mass_{}".format
FLIPS, OTHER_FLIPS = "erase_one.flips_{}".format, "erase_one.other_flips_{}".format
DELTA_JS, DELTA_ATTENTION = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
FRACTIONS = tuple(map(FRACTION, RANKINGS))
ROUNDING = 1e-9
"""A ranking that erases more than the smallest set by less than this finds it."""

LOGIT_DROPOUT = {
    (HIERARCHICAL, True): 0.2457,
    (HIERARCHICAL, False): 0.3749,
    (FLAT, True): 0.3457,
    (FLAT, False): 0.4457,
}
"""By shape, of IMDB and of Yahoo (appendix A.1), whose values the other sets get."""
ENCODERS = {RNN: "bigru", CONV: "cnn", NONE: "identity"}


def runs(scale: str) -> list[StudyRun]:
    """HAN and FLAN with recurrent, convolutional and no encoder on each set."""
    audit = AuditSettings(
        tests=("erase_one", "erase_until_flip"),
        options={"erase_until_flip": {"by": TOPS, "until_empty": True}},
        examples={"small": 500, "medium": 1_000, "paper": 50_000}[scale],
        shown=0,
    )
    return [
        StudyRun(
            data=source,
            model=f"{shape} {encoder}",
            encoder=encoder,
            method=shape,
            run=RunWithBase(_run(source, shape, encoder, seed, scale)),
            audit=audit,
        )
        for source, shapes in SHAPES.items()
        for shape in shapes
        for encoder in ENCODERS
        for seed in range({"small": 1, "medium": 3, "paper": 5}[scale])
    ]


def _run(source: str, shape: str, encoder: str, seed: int, scale: str) -> Run:
    return Run(
        data=_data(source, scale),
        text=TextSettings(
            min_count=1 if scale == "small" else 5, max_tokens={"small": 100, "medium": 120, "paper": None}[scale]
        ),
        network=_network(source, shape, encoder, scale),
        training=_training(encoder, scale),
        seed=seed,
    )


def _data(source: str, scale: str) -> DataSettings:
    """The set; IMDB with its ratings as labels, below the paper's scale from the small copy."""
    full, is_rated = scale == "paper", source == "imdb_ratings"
    imdb = "imdb" if full else "imdb_small"
    return DataSettings(
        source=imdb if is_rated else source,
        label="rating" if is_rated else None,
        train_limit={"small": 2_000, "medium": 3_000, "paper": None}[scale],
        test_limit=None if full else 1_000,
    )


def _network(source: str, shape: str, encoder: str, scale: str) -> NetworkSettings:
    inner, full = ENCODERS[encoder], scale == "paper"
    return NetworkSettings(
        **NORMAL_START,
        encoder="hierarchical" if shape == HIERARCHICAL else inner,
        words=inner,
        sentences=inner,
        embed_size=200,
        hidden_size=50,
        kernels=(3, 5),
        vectors=None if full else "glove_6b_100d",
        attention_size=200 if encoder == NONE and full else 100,
        embedding_dropout=0.4445,
        sentence_dropout=0.2202,
        logit_dropout=LOGIT_DROPOUT[shape, source == "imdb_ratings"],
    )


def _training(encoder: str, scale: str) -> TrainingSettings:
    """The paper's; below its scale, larger steps and few epochs."""
    full, epochs = scale == "paper", 60 if encoder == NONE else 15
    return TrainingSettings(
        **{**NEVER_EARLY, "patience": 10 if encoder == NONE else 5},
        epochs=epochs if full else 6,
        optimizer="adam",
        learning_rate=4e-4 if full else 2e-3,
        batch_size=64 if full else 32,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        clip_norm=10.0,
        plateau=True,
        metric="accuracy",
    )


PRINTED_IN = {"attention": "Table 2", "weight_gradient": "Figure 12", "attention_x_gradient": "Figure 13"}
NAMES = {"attention": "Table 2 and Figure 9", "weight_gradient": "Figure 12", "attention_x_gradient": "Figure 13"}
RANKED_BY = {name: RANKINGS[name] for name in TOPS} | {"weight_gradient": "the gradient"}


def tables(results: Results) -> list[Table]:
    """Table 3 (accuracy), Table 2 with Figures 9, 12, 13 (single erasures), Figures 5, 6, 10, 11 as numbers, regret."""
    return [_accuracy(results), *(_single(results, top) for top in TOPS), _sets(results), _regret(results)]


def _printed(cell: Cell, item: str, measure: str) -> float | None:
    return number(NAME, item=item, data=cell.data, model=cell.model, measure=measure)


def _accuracy(results: Results) -> Table:
    rows = tuple(
        ((cell.data, cell.model), (Entry(score_estimate(cell, "accuracy"), _printed(cell, "Table 3", "accuracy")),))
        for cell in results.select()
    )
    note = "The paper's data sets are different and much larger: Yahoo (10 classes), IMDB (10)."
    return Table("Table 3", "Accuracy", note, ("data", "model"), ("accuracy",), rows)


def _single(results: Results, top: str) -> Table:
    rows = []
    for cell in results.select(FLIPS(top), OTHER_FLIPS(top)):
        entries = tuple(
            entry(values, _printed(cell, PRINTED_IN[top], f"{name}_{top}"))
            for name, values in _flip_shares(cell.columns, top).items()
        )
        rows.append(((cell.data, cell.model), entries))
    return Table(
        NAMES[top],
        f"Does erasing the top item by {RANKED_BY[top]} change the decision? Does erasing a random other item?",
        "The random item is not sampled: its share is the exact expectation over all others.",
        ("data", "model"),
        ("both do", "only the top", "only the other", "neither"),
        tuple(rows),
    )


def _flip_shares(columns: Columns, top: str) -> dict[str, Values]:
    top_flips, other_flips = columns[FLIPS(top)], columns[OTHER_FLIPS(top)]
    return {
        "both_flip": top_flips * other_flips,
        "only_top_flips": top_flips * (1 - other_flips),
        "only_other_flips": (1 - top_flips) * other_flips,
        "neither_flips": (1 - top_flips) * (1 - other_flips),
    }


def _sets(results: Results) -> Table:
    rows = []
    for cell in results.select(*FRACTIONS):
        for name, column in (("fraction of items", FRACTION), ("attention mass", MASS)):
            entries = tuple(entry(cell.columns[column(ranking)]) for ranking in RANKINGS)
            rows.append(((cell.data, cell.model, name), entries))
    return Table(
        "Figures 5, 6, 10 and 11",
        "What each ranking erases before the decision changes",
        "Means over the texts in which erasing some set of items changes the decision; the smallest set is exact.",
        ("data", "model", "erased"),
        tuple(RANKINGS.values()),
        tuple(rows),
    )


def _regret(results: Results) -> Table:
    rows = []
    for cell in results.select(*FRACTIONS):
        smallest = cell.columns[FRACTION("minimal")]
        regrets = {ranking: cell.columns[FRACTION(ranking)] - smallest for ranking in ("random", *TOPS)}
        measures = [*regrets.values(), *(_is_zero(regrets[top]) for top in TOPS)]
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    return Table(
        "Regret",
        "How far each ranking is from the smallest set that changes the decision",
        "Fraction of items erased beyond the exact minimum, which the paper did not have; and how often a ranking "
        "finds the smallest set.",
        ("data", "model"),
        (
            *(RANKINGS[ranking] for ranking in ("random", *TOPS)),
            *(f"{RANKINGS[top]} finds it" for top in TOPS),
        ),
        tuple(rows),
    )


def _is_zero(regret: Values) -> Values:
    return only_where((regret < ROUNDING).double(), ~regret.isnan())


RANDOM, ATTENTION, GRADIENT = FRACTION("random"), FRACTION("attention"), FRACTION("weight_gradient")
PRODUCT, MINIMAL = FRACTION("attention_x_gradient"), FRACTION("minimal")


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    cells = results.select(*FRACTIONS)
    with_encoder = [cell for cell in cells if cell.encoder != NONE]
    parts = {
        "gradient_sooner_than_attention": _sooner(with_encoder, ATTENTION, GRADIENT),
        "product_sooner_than_attention": _sooner(with_encoder, ATTENTION, PRODUCT),
        "attention_sooner_than_random": _sooner(cells, RANDOM, ATTENTION),
        "convolution_needs_fewer_erasures_flat": _rnn_minus_conv(results, FLAT),
        "convolution_needs_fewer_erasures_han": _rnn_minus_conv(results, HIERARCHICAL),
        "no_encoder_needs_fewest_erasures": _fewest_minus_none(results),
        "attention_misses_smallest_set": _by_cell(with_encoder, _misses_smallest),
        "top_item_seldom_flips": _by_cell(cells, lambda columns: 1 - columns[FLIPS("attention")]),
        "top_item_moves_prediction_more": _by_cell(cells, _moves_more),
    }
    return judge_claims(NAME, parts)


def _sooner(cells: Sequence[Cell], later: str, sooner: str) -> dict[str, Part]:
    """How much less is erased by one ranking than by the other."""
    return _by_cell(cells, lambda columns: columns[later] - columns[sooner])


def _by_cell(cells: Sequence[Cell], measure: Callable[[Columns], Values]) -> dict[str, Part]:
    return {f"{cell.data}, {cell.model}": part_of(measure(cell.columns), cell) for cell in cells}


def _misses_smallest(columns: Columns) -> Values:
    regret = columns[ATTENTION] - columns[MINIMAL]
    return only_where((regret > ROUNDING).double(), ~regret.isnan())


def _moves_more(columns: Columns) -> Values:
    return only_where((columns[DELTA_JS] > 0).double(), ~columns[DELTA_JS].isnan())


def _rnn_minus_conv(results: Results, shape: str) -> dict[str, Part]:
    parts = {}
    for rnn in results.select(*FRACTIONS, encoder=RNN, method=shape):
        conv = results.find(*FRACTIONS, data=rnn.data, encoder=CONV, method=shape)
        if conv is not None:
            parts[f"{rnn.data}, {shape}"] = part_of(paired(rnn.columns[ATTENTION], conv.columns[ATTENTION]), rnn, conv)
    return parts


def _fewest_minus_none(results: Results) -> dict[str, Part]:
    """Of the models with an encoder the one that erases less on average - the model without, by data and shape."""
    parts = {}
    for none in results.select(*FRACTIONS, encoder=NONE):
        others = [results.find(*FRACTIONS, data=none.data, encoder=name, method=none.method) for name in (RNN, CONV)]
        measured = [cell for cell in others if cell is not None]
        if measured:
            fewest = min(measured, key=_mean_erased)
            difference = paired(fewest.columns[ATTENTION], none.columns[ATTENTION])
            parts[f"{none.data}, {none.method}"] = part_of(difference, fewest, none)
    return parts


def _mean_erased(cell: Cell) -> float:
    return cell.columns[ATTENTION].nanmean().item()


def remarks(results: Results) -> list[str]:
    """What the tables show of attention's regret, and of convolution against recurrence, shape by shape."""
    return [
        sentence for shape in (HIERARCHICAL, FLAT) for sentence in (*_regrets(results, shape), *_orders(results, shape))
    ]


def _regrets(results: Results, shape: str) -> list[str]:
    cells = results.select(*FRACTIONS, method=shape)
    if not cells:
        return []
    regrets = {f"{cell.data}, {cell.encoder}": _mean_regret(cell) for cell in cells}
    least, most = min(regrets, key=lambda name: regrets[name]), max(regrets, key=lambda name: regrets[name])
    return [
        f"Ranked by attention, the {shape} models erase {regrets[least]:.3f} ({least}) to {regrets[most]:.3f} ({most}) "
        "of a text more than the smallest set."
    ]


def _mean_regret(cell: Cell) -> float:
    return (cell.columns[ATTENTION] - cell.columns[MINIMAL]).nanmean().item()


def _orders(results: Results, shape: str) -> list[str]:
    means = {name: part.values.nanmean().item() for name, part in _rnn_minus_conv(results, shape).items()}
    halves = {
        "fewer erasures than with recurrence": [name.split(",")[0] for name, mean in means.items() if mean > 0],
        "no fewer": [name.split(",")[0] for name, mean in means.items() if mean <= 0],
    }
    clauses = [f"{amount} on {', '.join(sets)}" for amount, sets in halves.items() if sets]
    return [f"With convolution the {shape} models need, on average, {'; '.join(clauses)}."] if means else []


PAPER = "Serrano & Smith 2019, {}".format


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 3 to 8, 10 and 11."""
    cells = results.select()
    return [
        *_single_figures(text_frame(cells, {DELTA_ATTENTION: "x", DELTA_JS: "y"})),
        *measures_figure(
            cells,
            {FRACTION(ranking): name for ranking, name in RANKINGS.items()},
            "fraction of items erased before the decision changes",
            Heading("figure_5_6_10", "Erasing until the decision changes", PAPER("Figures 5, 6 and 10")),
            rows="ranking",
        ),
        *measures_figure(
            cells,
            {MASS(ranking): name for ranking, name in RANKINGS.items()},
            "attention mass erased before the decision changes",
            Heading("figure_11", "The attention mass erased by then", PAPER("Figure 11")),
            rows="ranking",
        ),
    ]


def _single_figures(frame: pl.DataFrame) -> list[Figure]:
    """The top item against a random other one: all texts, and those in which the other one mattered more."""
    if frame.is_empty():
        return []
    negative = frame.filter(pl.col("y") < 0).select("data", "model", pl.lit("all").alias("class"), value="x")
    share = len(negative) / len(frame)
    top = study_figure(
        Heading("figure_3_7", "The top item against a random other one", PAPER("Figures 3 and 7")),
        scatter(frame, "difference in attention", "difference in JS divergence"),
        caption=(
            "Each point is a text: how much more erasing the top item moves the prediction, by its extra weight. The "
            f"vertical axis is logarithmic beyond {LINEAR:g} and below {-LINEAR:g}."
        ),
        alt=f"Scatter plots; in {share:.0%} of texts the random item moved the prediction more.",
    )
    if negative.is_empty():
        return [top]
    _, most = axis_ends([0.0, *negative["value"]])
    other = study_figure(
        Heading("figure_4_8", "Where the random item moved the prediction more", PAPER("Figures 4 and 8")),
        histograms(negative, 0.0, min(most, 1.0), "difference in attention"),
        caption=f"Only the {share:.1%} of texts with a negative difference, by the difference in attention.",
        alt="Histograms of the difference in attention.",
    )
    return [top, other]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
    remarks=remarks,
)
