"""Serrano and Smith (2019), Is Attention Interpretable?: erasing single weights and sets of weights."""

import polars as pl

from heedful.battery.questions import Values
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.studies.charts import histograms, scatter
from heedful.studies.claims import entry, judge, only_where, paired, score_estimate
from heedful.studies.figures import measures_figure, study_figure
from heedful.studies.pipeline import text_frame
from heedful.studies.published import number
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table, Wanted

NAME = "serrano_smith"
STANDS_FOR = {"imdb_ratings": "imdb_ratings", "dbpedia14_small": "yahoo", "newsgroups_20": "yahoo"}
"""Whose numbers stand beside those of each of our sets."""

SHAPES = ("hierarchical", "flat")
ENCODERS = {"rnn": "bigru", "conv": "cnn", "none": "identity"}
TOPS = ("attention", "gradient", "product")
RANKINGS = ("random", *TOPS, "minimal")
FRACTION, MASS = "erase_until_flip.fraction_{}".format, "erase_until_flip.mass_{}".format
FLIPS, OTHER_FLIPS = "erase_one.flips_{}".format, "erase_one.other_flips_{}".format
DELTA_JS, DELTA_ATTENTION = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"

NEAR = 0.05
"""Share of a text by which a ranking may miss the smallest set and still be near it."""


def wanted(scale: str) -> list[Wanted]:
    """HAN and FLAN with recurrent, convolutional and no encoder on each set."""
    seeds = {"small": 1, "medium": 2, "paper": 5}[scale]
    audit = AuditSettings(
        tests=("erase_one", "erase_until_flip"),
        erase_by=TOPS,
        examples={"small": 500, "medium": 1_000, "paper": 50_000}[scale],
        shown=0,
    )
    return [
        Wanted(source, f"{shape} {encoder}", _run(source, shape, encoder, seed, scale), audit=audit)
        for source in STANDS_FOR
        for shape in SHAPES
        for encoder in ENCODERS
        for seed in range(seeds)
    ]


def _run(source: str, shape: str, encoder: str, seed: int, scale: str) -> Run:
    ratings, full = source == "imdb_ratings", scale == "paper"
    data = DataSettings(
        source=("imdb" if full else "imdb_small") if ratings else source,
        label="rating" if ratings else None,
        train_limit={"small": 2_000, "medium": 3_000, "paper": None}[scale],
        test_limit={"small": 1_000, "medium": 1_000, "paper": None}[scale],
    )
    text = TextSettings(min_count=1 if scale == "small" else 5, max_tokens={"small": 100, "medium": 120}.get(scale))
    inner = ENCODERS[encoder]
    network = NetworkSettings(
        encoder="hierarchical" if shape == "hierarchical" else inner,
        words=inner,
        sentences=inner,
        embed_size=200,
        hidden_size=50,
        kernels=(3, 5),
        vectors=None if full else "glove_6b_100d",
        attention_size=200 if encoder == "none" and full else 100,
        embedding_dropout=0.4445,
        sentence_dropout=0.2202,
        logit_dropout=0.2457 if ratings else 0.3749,
    )
    training = TrainingSettings(
        epochs={"small": 6, "medium": 6, "paper": 15 if encoder != "none" else 60}[scale],
        optimizer="adam",
        learning_rate=4e-4 if full else 2e-3,
        batch_size=64 if full else 32,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        clip_norm=10.0,
        plateau=True,
        patience=5 if encoder != "none" else 10,
        metric="accuracy",
    )
    return Run(data=data, text=text, network=network, training=training, seed=seed)


def tables(results: Results) -> list[Table]:
    """Table 3 (accuracy), Table 2 with Figures 9, 12, 13 (single erasures), Figures 5, 6, 10, 11 as numbers, regret."""
    return [_accuracy(results), *(_single(results, top) for top in TOPS), _sets(results), _regret(results)]


def _printed(cell: Cell, item: str, measure: str) -> float | None:
    return number(NAME, item=item, data=STANDS_FOR[cell.data], model=cell.model, measure=measure)


def _accuracy(results: Results) -> Table:
    rows = tuple(
        ((cell.data, cell.model), (Entry(score_estimate(cell, "accuracy"), _printed(cell, "Table 3", "accuracy")),))
        for cell in results.cells.values()
    )
    note = "Ours: mean and range over seeds. The paper's sets are others, much larger: Yahoo (10 classes), IMDB (10)."
    return Table("Table 3", "Accuracy", note, ("data", "model"), ("accuracy",), rows)


def _single(results: Results, top: str) -> Table:
    item = {"attention": "Table 2", "gradient": "Figure 12", "product": "Figure 13"}[top]
    rows = []
    for cell in results.having(FLIPS(top), OTHER_FLIPS(top)):
        top_flips, other = cell.columns[FLIPS(top)], cell.columns[OTHER_FLIPS(top)]
        shares = {
            "both_flip": top_flips * other,
            "only_top_flips": top_flips * (1 - other),
            "only_other_flips": (1 - top_flips) * other,
            "neither_flips": (1 - top_flips) * (1 - other),
        }
        entries = tuple(
            entry(values, f"{cell.data} {cell.model} {top} {name}", _printed(cell, item, f"{name}_{top}"))
            for name, values in shares.items()
        )
        rows.append(((cell.data, cell.model), entries))
    ranked = {"attention": "attention", "gradient": "the gradient", "product": "attention x gradient"}[top]
    return Table(
        f"{item}{' and Figure 9' if top == 'attention' else ''}",
        f"Does erasing the top item by {ranked} change the decision? A random other item?",
        "The random item is not drawn: its share is the exact expectation over all others.",
        ("data", "model"),
        ("both do", "only the top", "only the other", "neither"),
        tuple(rows),
    )


def _sets(results: Results) -> Table:
    rows = []
    for cell in results.having(*map(FRACTION, RANKINGS)):
        for name, column in (("fraction of items", FRACTION), ("attention mass", MASS)):
            entries = tuple(
                entry(cell.columns[column(ranking)], f"{cell.data} {cell.model} {name} {ranking}")
                for ranking in RANKINGS
            )
            rows.append(((cell.data, cell.model, name), entries))
    return Table(
        "Figures 5, 6, 10 and 11",
        "What each ranking erases before the decision changes",
        "Means over the texts whose decision some set of items changes; the smallest set is exact.",
        ("data", "model", "erased"),
        ("random", "attention", "gradient", "attention x gradient", "smallest set"),
        tuple(rows),
    )


def _regret(results: Results) -> Table:
    rows = []
    for cell in results.having(*map(FRACTION, RANKINGS)):
        smallest = cell.columns[FRACTION("minimal")]
        regrets = [cell.columns[FRACTION(ranking)] - smallest for ranking in RANKINGS[:-1]]
        optimal = [only_where((regret < 1e-9).double(), ~regret.isnan()) for regret in regrets[1:]]
        names = ("random", *TOPS, *(f"{top} is smallest" for top in TOPS))
        entries = tuple(
            entry(values, f"{cell.data} {cell.model} regret {name}")
            for name, values in zip(names, regrets + optimal, strict=True)
        )
        rows.append(((cell.data, cell.model), entries))
    return Table(
        "Regret",
        "How far each ranking is from the smallest set that changes the decision",
        "Fraction of items erased beyond the exact minimum, which the paper did not have; and how often it is found.",
        ("data", "model"),
        ("random", "attention", "gradient", "product", "attention finds it", "gradient finds it", "product finds it"),
        tuple(rows),
    )


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, each as a number above a threshold."""
    cells = {f"{cell.data}, {cell.model}": cell.columns for cell in results.having(*map(FRACTION, RANKINGS))}
    context = {name: columns for name, columns in cells.items() if not name.endswith("none")}

    def less(first: str, second: str) -> dict[str, Values]:
        """Fraction erased by attention, one encoder less another, where both were measured."""
        pairs = {
            name: (cells[name], cells[name.replace(first, second)])
            for name in cells
            if name.endswith(first) and name.replace(first, second) in cells
        }
        return {
            name: paired(one[FRACTION("attention")], other[FRACTION("attention")])
            for name, (one, other) in pairs.items()
        }

    return [
        judge(
            "With an encoder, the gradient finds a change of the decision sooner than attention.",
            "section 5.4, Figure 5",
            "fraction erased by attention less by gradient",
            {n: columns[FRACTION("attention")] - columns[FRACTION("gradient")] for n, columns in context.items()},
        ),
        judge(
            "Attention finds it sooner than a random ranking.",
            "section 5.4, Figure 5",
            "fraction erased at random less by attention",
            {n: columns[FRACTION("random")] - columns[FRACTION("attention")] for n, columns in cells.items()},
        ),
        judge(
            "Fewer erasures are needed with convolution than with a recurrent encoder.",
            "section 5.6, Figures 5 and 10",
            "fraction erased by attention, rnn less conv, text by text",
            less("rnn", "conv"),
        ),
        judge(
            "The fewest are needed without an encoder.",
            "section 5.6, Figure 6",
            "fraction erased by attention, conv less none, text by text",
            less("conv", "none"),
        ),
        judge(
            "Attention x gradient comes near the smallest set.",
            "section 5.4 (the paper did not have the minimum)",
            f"{NEAR} less the fraction that the product erases beyond the exact minimum",
            {n: NEAR - columns[FRACTION("product")] + columns[FRACTION("minimal")] for n, columns in cells.items()},
        ),
        judge(
            "Attention does not: it erases more than the smallest set.",
            "section 5.4",
            f"fraction that attention erases beyond the exact minimum, less {NEAR}",
            {n: columns[FRACTION("attention")] - columns[FRACTION("minimal")] - NEAR for n, columns in context.items()},
        ),
        judge(
            "Erasing the most attended item seldom changes the decision.",
            "section 4.2, Table 2",
            "share of texts whose decision stands",
            {n: 1 - columns[FLIPS("attention")] for n, columns in cells.items()},
            threshold=0.5,
        ),
        judge(
            "Erasing the most attended item moves the answer more than erasing a random other one.",
            "section 4.1, Figures 3 and 4",
            "share of texts where it does",
            {
                n: only_where((columns[DELTA_JS] > 0).double(), ~columns[DELTA_JS].isnan())
                for n, columns in cells.items()
            },
            threshold=0.5,
        ),
    ]


def figures(results: Results) -> list[Figure]:
    """Figures 3 to 8, 10 and 11, redrawn from our rows; 9, 12 and 13 are tables."""
    paper = "Serrano & Smith 2019, {}".format
    names = {"random": "random", "attention": "attention", "gradient": "gradient"}
    names |= {"product": "attention x gradient", "minimal": "smallest set"}
    return [
        *_single_figures(results),
        *measures_figure(
            results,
            {FRACTION(ranking): name for ranking, name in names.items()},
            "fraction of items erased before the decision changes",
            name="figure_5_6_10",
            title="Erasing until the decision changes",
            source=paper("Figures 5, 6 and 10"),
        ),
        *measures_figure(
            results,
            {MASS(ranking): name for ranking, name in names.items()},
            "attention mass erased before the decision changes",
            name="figure_11",
            title="The attention that is erased by then",
            source=paper("Figure 11"),
        ),
    ]


def _single_figures(results: Results) -> list[Figure]:
    frame = text_frame(results, {DELTA_ATTENTION: "x", DELTA_JS: "y"})
    if frame.is_empty():
        return []
    negative = frame.filter(pl.col("y") < 0).select("data", "model", value="x", **{"class": pl.lit("all")})
    share = len(negative) / len(frame)
    drawn = [
        study_figure(
            name="figure_3_7",
            title="The top item against a random other one",
            source="Serrano & Smith 2019, Figures 3 and 7",
            caption="Each point a text: how much more erasing the top item moves the answer, by its extra weight.",
            alt=f"Scatter plots; in {share:.0%} of texts the random item moved the answer more.",
            chart=scatter(frame, "difference in attention", "difference in JS divergence"),
        )
    ]
    if not negative.is_empty():
        drawn.append(
            study_figure(
                name="figure_4_8",
                title="Where the random item moved the answer more",
                source="Serrano & Smith 2019, Figures 4 and 8",
                caption=f"Only the {share:.1%} of texts with a negative difference, by the difference in attention.",
                alt="Histograms of the difference in attention.",
                chart=histograms(negative, 0.0, 1.0, "difference in attention"),
            )
        )
    return drawn


STUDY = Study(
    name="serrano-smith",
    title="Is Attention Interpretable?",
    paper="Serrano and Smith (2019), Is Attention Interpretable?, ACL, arXiv:1906.03731",
    scales={
        "small": "IMDB ratings (8 classes), DBpedia (14) and 20 Newsgroups (20); HAN and FLAN with recurrent, "
        "convolutional and no encoder; 1 seed; 2,000 training texts of at most 100 words; 500 test texts audited",
        "medium": "the same with 2 seeds; 3,000 training texts of at most 120 words; 1,000 test texts audited",
        "paper": "the same with 5 seeds, whole texts, all training and test texts, the paper's sizes and rates",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
