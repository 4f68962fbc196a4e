"""Serrano and Smith (2019), Is Attention Interpretable?: erasing single weights and sets of weights."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf, nan
from statistics import mean, median

import polars as pl
from torch import Tensor

from heedful.battery.question import Columns, Values
from heedful.data import named_sets
from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.papers.charts import LINEAR, histograms, scatter
from heedful.papers.claim_rule import entry, estimate, only_where, score_estimate
from heedful.papers.published import number, published
from heedful.papers.reproduction import (
    NEVER_EARLY,
    NORMAL_START,
    Cell,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    study_file,
)
from heedful.papers.serrano_smith.claims import (
    ATTENTION,
    COLUMNS,
    DELTA_ATTENTION,
    DELTA_JS,
    FLIPS,
    FRACTION,
    MASS,
    OTHER_FLIPS,
    ROUNDING,
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
"""What items are erased by, and what tables call it."""
ONE_RANDOM = "one_random"
DRAWN = {ONE_RANDOM: "random (one order)"} | {name: RANKINGS[name] for name in (*TOPS, "minimal")}
"""The same for box plots and shares of texts, which have one random order of each text, as the paper does."""

COUNT = "erase_until_flip.count_{}".format
ITEMS = "prediction.items"
FRACTIONS = tuple(map(FRACTION, RANKINGS))

SETTINGS = {
    "imdb_ratings": (4e-4, 0.4445, 0.2202, {HIERARCHICAL: 0.2457, FLAT: 0.3457}),
    "yahoo": (4e-4, 0.4445, 0.2202, {HIERARCHICAL: 0.3749, FLAT: 0.4457}),
    "amazon": (2e-4, 0.6, 0.2, {HIERARCHICAL: 0.4, FLAT: 0.4}),
    "yelp": (1e-4, 0.7, 0.1, {HIERARCHICAL: 0.7, FLAT: 0.7}),
}
"""The paper's (appendix A.1): learning rate, dropout of words, of sentences, and by shape of logits."""
FETCHED = {"yahoo": "yahoo_answers", "amazon": "amazon_reviews", "yelp": "yelp_reviews"}
"""What `heedful data fetch` calls sets that the paper's scale has where they are in the data folder."""
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
        for source, shapes in _sets(scale).items()
        for shape in shapes
        for encoder in ENCODERS
        for seed in range({"small": 1, "medium": 3, "paper": 5}[scale])
    ]


def _sets(scale: str) -> Mapping[str, tuple[str, ...]]:
    """The models of each set at that scale."""
    there = [name for name, source in FETCHED.items() if source in named_sets()] if scale == "paper" else []
    return {**SHAPES, **dict.fromkeys(there, (HIERARCHICAL, FLAT))}


def _run(source: str, shape: str, encoder: str, seed: int, scale: str) -> Run:
    return Run(
        data=_data(source, scale),
        text=TextSettings(
            min_count=1 if scale == "small" else 5, max_tokens={"small": 100, "medium": 120, "paper": None}[scale]
        ),
        network=_network(source, shape, encoder, scale),
        training=_training(source, encoder, scale),
        seed=seed,
    )


def _data(source: str, scale: str) -> DataSettings:
    """The set; IMDB with its ratings as labels, below the paper's scale from the small copy."""
    full, is_rated = scale == "paper", source == "imdb_ratings"
    imdb = "imdb" if full else "imdb_small"
    return DataSettings(
        source=imdb if is_rated else FETCHED.get(source, source),
        label="rating" if is_rated else None,
        train_limit={"small": 2_000, "medium": 3_000, "paper": None}[scale],
        test_limit=None if full else 1_000,
    )


def _network(source: str, shape: str, encoder: str, scale: str) -> NetworkSettings:
    inner, full = ENCODERS[encoder], scale == "paper"
    _, words, sentences, logits = SETTINGS.get(source, SETTINGS["yahoo"])
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
        embedding_dropout=words,
        sentence_dropout=sentences,
        logit_dropout=logits[shape],
    )


def _training(source: str, encoder: str, scale: str) -> TrainingSettings:
    """The paper's; below its scale, larger steps and few epochs."""
    full, epochs = scale == "paper", 60 if encoder == NONE else 15
    return TrainingSettings(
        **{**NEVER_EARLY, "patience": 10 if encoder == NONE else 5},
        epochs=epochs if full else 6,
        optimizer="adam",
        learning_rate=SETTINGS.get(source, SETTINGS["yahoo"])[0] if full else 2e-3,
        batch_size=64 if full else 32,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        clip_norm=10.0,
        plateau=True,
        metric="accuracy",
    )


TITLES = {name: RANKINGS[name] for name in TOPS} | {"weight_gradient": "the gradient"}
PRINTED = ("imdb_ratings", "yahoo", "amazon", "yelp")
"""The paper's sets; we have the like of the first."""
HAN_RNN, *OTHERS = MODELS = tuple(f"{shape} {encoder}" for shape in (HIERARCHICAL, FLAT) for encoder in ENCODERS)
ERASURES = {
    "Figure 5": (HAN_RNN, f"{FLAT} {RNN}", f"{FLAT} {CONV}"),
    "Figure 6": (f"{HIERARCHICAL} {NONE}", f"{FLAT} {NONE}"),
    "Figure 10": (f"{HIERARCHICAL} {CONV}",),
}
"""The models that each figure of the paper is the first to show."""


def tables(results: Results) -> list[Table]:
    """The paper's tables, its figures as numbers and its statements, in its order; then regret."""
    return [
        _texts(results),
        *_flips(results, "Table 2", "attention", (HAN_RNN,)),
        _endings(results),
        _comparisons(results),
        _late(results),
        _sized(results),
        *(_erased(results, name, FRACTION, models) for name, models in ERASURES.items()),
        *_with_paper(results, "Table 3", "Accuracy", "", {"accuracy": "accuracy"}, _accuracy),
        *_flips(results, "Figure 9", "attention", OTHERS),
        _erased(results, "Figure 11", MASS, MODELS),
        *_flips(results, "Figure 12", "weight_gradient", MODELS),
        *_flips(results, "Figure 13", "attention_x_gradient", MODELS),
        _regret(results),
    ]


def _texts(results: Results) -> Table:
    rows = []
    for data in dict.fromkeys((*PRINTED, *results.datasets)):
        cells = {cell.method: cell for cell in results.select(ITEMS, data=data)}
        entries = []
        for shape, measure in ((FLAT, "average_length"), (HIERARCHICAL, "average_sentences")):
            items = cells[shape].columns[ITEMS][0] if shape in cells else None
            spread = published(NAME).filter(item="Table 1", data=data, measure=measure)["spread"].to_list() or [None]
            for moment, paper in ((Tensor.mean, _number("Table 1", data, "", measure)), (Tensor.std, spread[0])):
                entries.append(Entry(None if items is None else _plain(moment(items).item(), len(items)), paper))
        flat = cells.get(FLAT)
        sizes = (flat.runs[0].run.data.train_limit, flat.columns[ITEMS].shape[1], flat.classes) if flat else (None,) * 3
        for size, measure in zip(sizes, ("train_dev_size", "test_size", "classes"), strict=True):
            entries.append(Entry(None if size is None else _plain(size, size), _number("Table 1", data, "", measure)))
        rows.append(((data,), tuple(entries)))
    return Table(
        "Table 1",
        "The datasets",
        "Ours as the models read them: words after the cut at the most words of a text; sentences by rules, not by a "
        "parser; at most as many training texts (the paper's with development); the test texts that were audited.",
        ("data",),
        ("words", "words, s.d.", "sentences", "sentences, s.d.", "training texts", "test texts", "classes"),
        tuple(rows),
    )


def _number(item: str, data: str, model: str, measure: str) -> float | None:
    return number(NAME, item=item, data=data, model=model, measure=measure)


def _plain(value: float, n: int) -> Estimate:
    """A number without an interval."""
    return Estimate(value, nan, nan, n)


def _accuracy(cell: Cell) -> list[Estimate | None]:
    return [score_estimate(cell, "accuracy")]


def _flips(results: Results, name: str, top: str, models: Sequence[str]) -> list[Table]:
    cases = ("both_flip", "only_top_flips", "only_other_flips", "neither_flips")
    return _with_paper(
        results,
        name,
        f"Does erasing the top item by {TITLES[top]} change the decision? Does erasing a random other item?",
        "Shares of texts. The random item is not sampled: its share is the exact expectation over all others.",
        dict(zip(("both do", "only the top", "only the other", "neither"), (f"{c}_{top}" for c in cases), strict=True)),
        lambda cell: map(estimate, _flip_shares(cell.columns, top)) if FLIPS(top) in cell.columns else (None,) * 4,
        models,
    )


def _flip_shares(columns: Columns, top: str) -> tuple[Values, ...]:
    top_flips, other_flips = columns[FLIPS(top)], columns[OTHER_FLIPS(top)]
    kept = 1 - top_flips
    return top_flips * other_flips, top_flips * (1 - other_flips), kept * other_flips, kept * (1 - other_flips)


def _with_paper(
    results: Results,
    name: str,
    title: str,
    note: str,
    columns: Mapping[str, str],
    ours: Callable[[Cell], Iterable[Estimate | None]],
    models: Sequence[str] = MODELS,
) -> list[Table]:
    """A table of the paper's sets, of which we have the first; and one of the sets that stand in for the others.

    Args:
        columns: the title of each, and its measure in `published.csv`.
    """
    cells = {(cell.data, cell.model): tuple(ours(cell)) for cell in results.select() if cell.model in models}
    rows: dict[bool, list[tuple[tuple[str, ...], tuple[Entry, ...]]]] = {True: [], False: []}
    for data, model in dict.fromkeys((*product(PRINTED, models), *cells)):
        paper = [_number(name, data, model, measure) for measure in columns.values()]
        own = cells.get((data, model), (None,) * len(paper))
        if any(value is not None for value in (*own, *paper)):
            rows[data in PRINTED].append(((data, model), tuple(map(Entry, own, paper))))
    names = {True: name, False: f"{name}, stand-ins"}
    return [
        Table(names[is_paper], title, note, ("data", "model"), tuple(columns), tuple(some))
        for is_paper, some in rows.items()
        if some
    ]


def _own(
    results: Results,
    name: str,
    title: str,
    note: str,
    measures: Mapping[str, Callable[[Columns], Values]],
    models: Sequence[str] = MODELS,
) -> Table:
    """A table of our own numbers, of what was measured when items were erased until the decision changed."""
    rows = (
        ((cell.data, cell.model), tuple(entry(measure(cell.columns)) for measure in measures.values()))
        for cell in results.select(*FRACTIONS)
        if cell.model in models
    )
    return Table(name, title, note, ("data", "model"), tuple(measures), tuple(rows))


def _endings(results: Results) -> Table:
    return _own(
        results,
        "Section 5.3",
        "Texts whose decision changes only at the end, or never",
        "Shares of texts. Texts of one item are left out. Of the others: the share in which the decision changes only "
        "when all items are gone and the zero vector is decoded, so that the fraction erased is 1; and the share in "
        "which it does not change even then, which is left out, too.",
        {
            "one item": lambda columns: (columns[ITEMS] < 2).double(),
            "only at the end": lambda columns: columns["erase_until_flip.only_empty"],
            "never": lambda columns: columns["erase_until_flip.never"],
        },
    )


def _comparisons(results: Results) -> Table:
    return _own(
        results,
        "Section 5.4",
        "Which changes the decision with fewer items, another ranking or attention?",
        "Shares of the texts whose decision changes.",
        {
            f"{RANKINGS[name]} {word}": lambda columns, name=name, sign=sign: _is_sooner(columns, name, sign)
            for name in TOPS[1:]
            for word, sign in (("sooner", 1), ("later", -1), ("tied", 0))
        },
    )


def _is_sooner(columns: Columns, ranking: str, sign: int = 1) -> Values:
    """Whether the ranking erases fewer items than attention; with sign -1 more, with 0 as many."""
    fewer = columns[COUNT("attention")] - columns[COUNT(ranking)]
    return only_where((fewer.where(fewer.abs() > ROUNDING, 0.0).sign() == sign).double(), ~fewer.isnan())


def _late(results: Results) -> Table:
    table = _own(
        results,
        "Section 5.5",
        "Texts in which more than half of the items go before the decision changes",
        "Shares of the texts whose decision changes. The paper's numbers are in the caption of Figure 6; of its other "
        "models it shows box plots, in several of which the median or the lower quartile is 1 or very close to 1.",
        {name: lambda columns, ranking=ranking: _above_half(columns, ranking) for ranking, name in DRAWN.items()},
    )
    place, rows = ("amazon", f"{FLAT} {NONE}"), dict(table.rows)
    names = ["random" if ranking == ONE_RANDOM else ranking for ranking in DRAWN]
    paper = [_number("Figure 6", *place, f"fraction_above_half_{name}") for name in names]
    own = [each.ours for each in rows.get(place, [Entry(None)] * len(paper))]
    return replace(table, rows=tuple((rows | {place: tuple(map(Entry, own, paper))}).items()))


def _above_half(columns: Columns, ranking: str) -> Values:
    fraction = columns[FRACTION(ranking)]
    return only_where((fraction > 0.5).double(), ~fraction.isnan())


def _erased(results: Results, name: str, column: Callable[[str], str], models: Sequence[str]) -> Table:
    return _own(
        results,
        name,
        f"{'Fraction of items' if column is FRACTION else 'Attention mass'} erased before the decision changes",
        "Means over the texts whose decision changes; random: the mean over 100 orders; the smallest set is exact. The "
        "paper shows box plots without numbers.",
        {title: lambda columns, ranking=ranking: columns[column(ranking)] for ranking, title in RANKINGS.items()},
        models,
    )


def _sized(results: Results) -> Table:
    """What the paper's sections say with a number; one of our models is the mean of its seeds."""
    ours, rows = _sizes(results), []
    printed = published(NAME).filter(pl.col("item").str.starts_with("section"), pl.col("measure") != "models")
    for item, model, measure in printed.select("item", "model", "measure").iter_rows():
        paper, of = (_number(item, "all", model, name) for name in (measure, "models"))
        statement, own = study_file("", "measures.toml")[measure], ours[measure]
        if measure.startswith("models_") and paper and of:
            statement = f"{statement} (the paper: {paper:.0f} of {of:.0f}; ours: {sum(own)} of {len(own)})"
            paper = paper / of
        value = _plain(mean(own), len(own)) if own else None
        rows.append(((item, statement), (Entry(value, paper),)))
    note = "Where models are counted: their share. Ours are of IMDB and of the sets that stand in for others."
    head, columns = ("place", "statement"), ("share or size",)
    return Table("Sized statements", "What the paper says with a number", note, head, columns, tuple(rows))


def _sizes(results: Results) -> dict[str, list[float]]:
    """What each statement measures: of every model whether it holds, or a number."""
    cells = results.select(*FRACTIONS, *map(FLIPS, TOPS))
    encoded = [cell.columns for cell in cells if cell.encoder != NONE]
    sooner, later = ([_mean(_is_sooner(each, TOPS[1], sign)) for each in encoded] for sign in (1, -1))
    flips, masses = ([[_mean(cell.columns[of(top)]) for top in TOPS] for cell in cells] for of in (FLIPS, MASS))
    some = {(c.data, c.method, c.encoder): 1 - _mean(_flip_shares(c.columns, TOPS[0])[3]) for c in cells}
    return {
        "models_gradient_mostly_faster": [share > 0.5 for share in sooner],
        "gradient_faster_ratio": sorted(a / b if b else inf for a, b in zip(sooner, later, strict=True))[:1],
        "models_none_flips_most": [
            share > max(others)
            for (data, method, encoder), share in some.items()
            if encoder == NONE
            and (others := [some[key] for other in (RNN, CONV) if (key := (data, method, other)) in some])
        ],
        "models_gradient_flips_less": [gradient < attention for attention, gradient, _ in flips],
        "models_product_flips_more": [product > attention for attention, _, product in flips],
        "mass_shift_weight_gradient": [median(row[0] - row[1] for row in masses)] if masses else [],
        "mass_shift_attention_x_gradient": [median(row[0] - row[2] for row in masses)] if masses else [],
    }


def _mean(values: Values) -> float:
    return values.nanmean().item()


def _regret(results: Results) -> Table:
    names = ("random", *TOPS)
    return _own(
        results,
        "Regret",
        "How far each ranking is from the smallest set that changes the decision",
        "Fraction of items erased beyond the exact minimum, which the paper did not have; and how often a ranking "
        "finds the smallest set.",
        {RANKINGS[name]: lambda columns, name=name: _beyond_smallest(columns, name) for name in names}
        | {f"{RANKINGS[name]} finds it": lambda columns, name=name: _finds(columns, name) for name in TOPS},
    )


def _beyond_smallest(columns: Columns, ranking: str) -> Values:
    return columns[FRACTION(ranking)] - columns[FRACTION("minimal")]


def _finds(columns: Columns, ranking: str) -> Values:
    beyond = _beyond_smallest(columns, ranking)
    return only_where((beyond < ROUNDING).double(), ~beyond.isnan())


def remarks(results: Results) -> list[str]:
    """How late decisions change under attention, and how often the gradient is sooner, by shape and encoder."""
    sentences = []
    for shape, encoder in product((HIERARCHICAL, FLAT), ENCODERS):
        columns = {cell.data: cell.columns for cell in results.select(*FRACTIONS, method=shape, encoder=encoder)}
        medians = ", ".join(f"{each[ATTENTION].nanmedian().item():.2f} ({data})" for data, each in columns.items())
        shares = ", ".join(f"{100 * _mean(_is_sooner(each, TOPS[1])):.0f}% ({data})" for data, each in columns.items())
        if columns:
            sentences.append(
                f"{shape.capitalize()} {encoder}: in the median text attention erases a fraction of {medians} before "
                f"the decision changes; the gradient needs fewer items in {shares} of the texts."
            )
    return sentences


PAPER = "Serrano & Smith 2019, {}".format


def figures(results: Results) -> list[Figure]:
    """Figures 3 to 8, 10 and 11."""
    return [
        *_single_figures(results, 3, (HAN_RNN,)),
        *(figure for place in ("Figure 5", "Figure 6") for figure in _boxes(results, place, FRACTION, ERASURES[place])),
        *_single_figures(results, 7, OTHERS),
        *_boxes(results, "Figure 10", FRACTION, ERASURES["Figure 10"]),
        *_boxes(results, "Figure 11", MASS, MODELS),
    ]


def _boxes(results: Results, place: str, column: Callable[[str], str], models: Sequence[str]) -> list[Figure]:
    what = "fraction of items" if column is FRACTION else "attention mass"
    return measures_figure(
        [cell for cell in results.select() if cell.model in models],
        {column(ranking): name for ranking, name in DRAWN.items()},
        f"{what} erased before the decision changes",
        Heading(place.lower().replace(" ", "_"), "Erasing until the decision changes", PAPER(place)),
        rows="ranking",
    )


def _single_figures(results: Results, place: int, models: Sequence[str]) -> list[Figure]:
    """The top item against a random other one: all texts, and those in which the other one mattered more."""
    cells = [cell for cell in results.select() if cell.model in models]
    frame = text_frame(cells, {DELTA_ATTENTION: "x", DELTA_JS: "y"})
    if frame.is_empty():
        return []
    negative = frame.filter(pl.col("y") < 0).select("data", "model", pl.lit("all").alias("class"), value="x")
    share = len(negative) / len(frame)
    top = study_figure(
        Heading(f"figure_{place}", "The top item against a random other one", PAPER(f"Figure {place}")),
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
        Heading(f"figure_{place + 1}", "Where the random item moved the prediction more", PAPER(f"Figure {place + 1}")),
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
    columns=COLUMNS,
    figures=figures,
    remarks=remarks,
)
