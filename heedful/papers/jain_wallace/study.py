"""Jain and Wallace (2019), Attention is not Explanation: agreement, permuted attention, adversarial attention."""

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from statistics import fmean

import polars as pl

from heedful.battery.question import Values
from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.papers.charts import heat_maps
from heedful.papers.claim_rule import Where, entry, estimate, only_where, paired, score_estimate
from heedful.papers.jain_wallace.claims import (
    ADVERSARIAL,
    COLUMNS,
    EACH_OTHER,
    GRADIENT,
    GRADIENT_P,
    HIGH,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OUT_P,
    LITTLE,
    NEAR,
    PERMUTED,
    WITHOUT_TOP,
    little_change_at_high_weight,
    near_cap,
)
from heedful.papers.published import deviation, number
from heedful.papers.reproduction import (
    Cell,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    study_file,
)
from heedful.papers.study_figures import (
    LARGEST,
    Heading,
    by_largest_figure,
    histogram_figure,
    intervals_figure,
    measures_figure,
    study_figure,
)
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings

# Texts as Jain and Wallace prepared them, and after them Wiegreffe and Pinter, Amini and Kosseim.

NAME = "jain_wallace"
FIXED = study_file(NAME, "settings.toml")
"""Every setting that a recipe must fix, by what it is a setting of."""

LONGER_THAN = {"sst2": 5, "imdb": 6, "newsgroups_sports": 6}
"""Their strict lower bounds on the length of a text."""
BABI = ("babi_task1", "babi_task2", "babi_task3")
SHORTER_THAN = {"imdb": 400, "newsgroups_sports": 500}
"""Their upper bounds, of sets that are read whole."""
MIN_COUNT = {"imdb": 10}
"""How often a word must occur to be known, in the whole set: for a vocabulary of the size that they print."""
SAMPLED = ("imdb",)
"""Sets that others read a sample of at medium scale."""
WITHOUT_PUNCTUATION = ("sst2", "imdb")
"""Sets whose texts were words alone before the authors cut them into tokens."""

TRAIN_LIMIT = {"small": 2_000, "medium": 3_000, "paper": None}
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}
"""Of the sets that are not whole."""

VECTORS = NetworkSettings(vectors="glove_6b_100d", **FIXED["network"])
"""Words without a vector start at zero, as in their code."""


def is_whole(source: str, scale: str) -> bool:
    """Whether the set is read whole: no sample of its texts, and none of them cut."""
    return scale == "paper" or (scale == "medium" and source not in SAMPLED)


def data_of(source: str, scale: str) -> DataSettings:
    """The set, or a sample of it; for IMDB from the small copy, which is faster to read."""
    if is_whole(source, scale):
        return DataSettings(source=source)
    name = "imdb_small" if source == "imdb" else source
    return DataSettings(source=name, train_limit=TRAIN_LIMIT[scale], test_limit=1_000)


def text_of(source: str, scale: str) -> TextSettings:
    """Words and punctuation, or words alone, between a start and an end symbol; long texts are cut in a sample."""
    tokens = FIXED["text"] | (FIXED["text_without_punctuation"] if source in WITHOUT_PUNCTUATION else {})
    lower = {"longer_than": LONGER_THAN.get(source)}
    if is_whole(source, scale):
        whole = {"shorter_than": SHORTER_THAN.get(source), "min_count": MIN_COUNT.get(source, 1)}
        return TextSettings(**tokens | lower | whole)
    return TextSettings(**tokens | lower | {"max_tokens": None if source in BABI else MOST_WORDS[scale]})


BILSTM, AVERAGE, CNN = "bilstm", "average", "cnn"
ADDITIVE, DOT = "additive", "dot"

BY_SEARCH = "adversarial_attention.js_search"
ALMOST = 0.99
"""The share of the exact divergence above which a search finds it."""

SETS = ("sst2", "newsgroups_sports", *BABI, "snli", "ag_news", "imdb")
"""The most valuable first: runs are done in this order."""
MAIN = ((BILSTM, ADDITIVE), (AVERAGE, ADDITIVE))
"""The encoders and the attention of the paper's Table 2."""
OTHERS = ((CNN, ADDITIVE), (BILSTM, DOT), (AVERAGE, DOT))
"""Of which the paper speaks without printing a number."""
SEEDS = {"small": (2, 2), "medium": (3, 2), "paper": (5, 5)}
"""How many seeds each of the first, and of the second, is trained from."""
FIVE_SEEDS = ("sst2", "newsgroups_sports", *BABI)
"""Sets on which those of the paper's Table 2 are trained from five seeds at medium scale, too."""
TANH_HEAD = (*BABI, "snli")
"""Sets on which their code has a tanh layer between context and prediction."""
TESTS = ("gradient_agreement", "leave_one_out_agreement", "permutation")
ADVERSARY = "adversarial_attention"
TEXTS = {"small": 300, "medium": 500, "paper": None}
"""How many test texts are audited."""
SEARCHED = {"small": 30, "medium": 100, "paper": 500}
"""For how many of them the authors' search is run next to the exact adversary."""
SHOWN = 20
"""Texts shown word by word, with their attention and the most different one."""
SEARCH, LINEAR = "search", "linear head"
"""The roles of the audit that runs it; and of models with a linear head where theirs has a tanh layer: for the
adversary, which the tests find without a search only where the logits are linear in attention."""


def runs(scale: str) -> list[StudyRun]:
    """The paper's encoders and attention on every set, the authors' search, and what the paper prints no number of."""
    sets = ("sst2", "newsgroups_sports", "babi_task1", "ag_news") if scale == "small" else SETS
    main, others = SEEDS[scale]
    audit, search = (
        AuditSettings(tests=(*TESTS, ADVERSARY), examples=TEXTS[scale], shown=0),
        AuditSettings(tests=(ADVERSARY,), examples=SEARCHED[scale], shown=SHOWN, options={ADVERSARY: {"search": True}}),
    )
    planned = [
        (source, *model, 5 if scale == "medium" and source in FIVE_SEEDS else main, "", audit)
        for source in sets
        for model in MAIN
    ]
    planned += [(source, *model, main, LINEAR, audit) for source in sets if source in TANH_HEAD for model in MAIN]
    planned += [(source, BILSTM, ADDITIVE, 1, SEARCH, search) for source in sets]
    planned += [
        (source, *model, others, "", audit) for source in sets for model in OTHERS[: 1 if scale == "small" else None]
    ]
    return [
        _study_run(source, encoder, attention, seed, scale, role, asked)
        for source, encoder, attention, seeds, role, asked in planned
        for seed in range(seeds)
    ]


def _study_run(
    source: str, encoder: str, attention: str, seed: int, scale: str, role: str, audit: AuditSettings
) -> StudyRun:
    head = "linear" if role or source not in TANH_HEAD else "tanh"
    run = update_settings(_run(source, encoder, attention, seed, scale), {"network.head": head})
    return StudyRun(
        data=source,
        model=f"{encoder} {attention}" + (f", {role}" if role else ""),
        encoder=encoder,
        method=attention,
        role=role,
        run=RunWithBase(run),
        audit=audit if head == "linear" else update_settings(audit, {"tests": TESTS}),
    )


SIZES = {BILSTM: 128, AVERAGE: 256, CNN: 64}
"""Units a direction, features, and filters a kernel: appendix A."""
SIZES_ON_BABI = {BILSTM: 30, AVERAGE: 256, CNN: 8}
"""The appendix names no other width of the average encoder for bAbI."""


def _run(source: str, encoder: str, attention: str, seed: int, scale: str) -> Run:
    reading = "small" if scale == "small" else "paper"
    network = NetworkSettings(embed_size=50, **FIXED["network"]) if source in BABI else VECTORS
    width = (SIZES_ON_BABI if source in BABI else SIZES)[encoder]
    return Run(
        data=data_of(source, reading),
        text=text_of(source, reading),
        network=update_settings(network, {"encoder": encoder, "attention": attention, "hidden_size": width}),
        training=_training(source, scale),
        seed=seed,
    )


def _training(source: str, scale: str) -> TrainingSettings:
    task = "qa" if source in BABI else "nli" if source == "snli" else "classification"
    fewer = FEWER[scale].get(task, {})
    return TrainingSettings(**FIXED["training"] | FIXED.get(f"training_{task}", {}) | fewer)


FEWER: dict[str, dict[str, dict[str, int]]] = {
    "small": {"classification": {"epochs": 5}, "qa": {"epochs": 15}},
    "medium": {"nli": {"patience": 3}, "qa": {"patience": 10, "min_epochs": 30}},
    "paper": {},
}
"""How training is shortened below the paper's scale, by task."""


SIGNIFICANT = 0.05
LATER = "later runs of their code"
"""What `published.csv` calls the numbers of the result files that the authors published with their code."""


def tables(results: Results) -> list[Table]:
    """Table 1, Table 2, what Figures 3 to 8 show as numbers; and what goes beyond the paper."""
    theirs, linear = results.select(GRADIENT, LEAVE_ONE_OUT), results.select(GRADIENT, LEAVE_ONE_OUT, role=LINEAR)
    return [
        _performance(results),
        _agreement("Table 2", theirs),
        _sized(results),
        _counterfactuals(results),
        _searched(results),
        _agreement("Linear head", linear),
        _bounds(results),
    ]


def _printed(item: str, data: str, measure: str, model: str = "") -> float | None:
    return number(NAME, item=item, data=data, measure=measure, model=model)


def _performance(results: Results) -> Table:
    rows = []
    for cell in results.select():
        metric = "f1" if cell.classes == 2 else "accuracy"
        own = Entry(score_estimate(cell, metric), _printed("Table 1", cell.data, metric, cell.model))
        rows.append(((cell.data, cell.model, metric), (own,)))
    note = "F1 of the positive class for two classes, accuracy for more."
    return Table("Table 1", "How well the models predict", note, ("data", "model", "measure"), ("score",), tuple(rows))


def _agreement(name: str, cells: Sequence[Cell]) -> Table:
    columns = (
        *("tau gradient", "its deviation", "significant"),
        *("tau leave-one-out", "its deviation", "significant"),
        *(f"tau gradient, {LATER}", f"tau leave-one-out, {LATER}"),
    )[: 8 if name == "Table 2" else 6]
    rows = [
        ((cell.data, cell.model, label), _agreement_entries(cell, label, where)[: len(columns)])
        for cell in cells
        for label, where in _by_class(cell)
    ]
    note = (
        "Kendall's tau-b of attention with each, by predicted class: its mean and its standard deviation over texts, "
        "and the share of texts where it is significant at .05. Later runs: means in the result files that the "
        "authors published with their code (successar/AttentionExplanation, graph_outputs)."
    )
    return Table(
        name,
        "Does attention agree with other importance measures?",
        note,
        ("data", "model", "predicted"),
        columns,
        tuple(rows),
    )


def _agreement_entries(cell: Cell, label: str, where: Where) -> tuple[Entry, ...]:
    """Tau, its deviation and the share that is significant, with the gradient and with leave-one-out; later runs."""
    entries, later = [], []
    for name, tau_column, p_column in (
        ("gradient", GRADIENT, GRADIENT_P),
        ("leave_one_out", LEAVE_ONE_OUT, LEAVE_ONE_OUT_P),
    ):
        split = "" if label == "all" else f" {label}"
        tau = only_where(cell.columns[tau_column], where)
        is_significant = only_where((cell.columns[p_column] < SIGNIFICANT).double(), ~tau.isnan())
        place = {"data": cell.data, "model": cell.model, "measure": f"tau_{name}{split}"}
        entries += [
            entry(tau, _printed("Table 2", **place)),
            Entry(_deviation(tau), deviation(NAME, item="Table 2", **place)),
            entry(is_significant, _printed("Table 2", **place | {"measure": f"significant_{name}{split}"})),
        ]
        later.append(Entry(None, _printed(LATER, **place)))
    return (*entries, *later)


def _deviation(values: Values) -> Estimate:
    """Standard deviation over the texts that have a value, the mean over seeds; without an interval."""
    from_mean = values - values.nanmean(1, keepdim=True)
    return Estimate(from_mean.square().nanmean(1).sqrt().nanmean().item(), nan, nan, len(values))


def _by_class(cell: Cell) -> list[tuple[str, Where]]:
    """The texts by predicted class as the paper splits them: not at all for question answering."""
    predicted = cell.columns["prediction.predicted"]
    if cell.data in BABI:
        return [("all", predicted >= 0)]
    return [(f"class {label}", predicted == label) for label in range(cell.classes)]


GAPS = {
    "gap_leave_one_out": ("Figure 3", "tau of leave-one-out with the gradient - with attention (BiLSTM)"),
    "gap_gradient": ("Figure 4", "tau of the gradient with leave-one-out - with attention (BiLSTM)"),
    "gap_encoders": ("Figure 5", "tau of attention with leave-one-out: average - BiLSTM"),
}


def _sized(results: Results) -> Table:
    """What the captions of Figures 3 to 5 say with a number."""
    gaps: dict[str, list[float]] = {name: [] for name in GAPS}
    for cell in results.select(EACH_OTHER, GRADIENT, LEAVE_ONE_OUT, encoder=BILSTM, method=ADDITIVE):
        each_other, own = cell.columns[EACH_OTHER], cell.columns[LEAVE_ONE_OUT]
        average = results.find(LEAVE_ONE_OUT, data=cell.data, encoder=AVERAGE, method=ADDITIVE)
        gaps["gap_leave_one_out"].append((each_other - own).nanmean().item())
        gaps["gap_gradient"].append((each_other - cell.columns[GRADIENT]).nanmean().item())
        gaps["gap_encoders"] += [paired(average.columns[LEAVE_ONE_OUT], own).nanmean().item()] if average else []
    rows = []
    for name, (place, statement) in GAPS.items():
        model = f"{AVERAGE if name == 'gap_encoders' else BILSTM} {ADDITIVE}"
        ours = Estimate(fmean(gaps[name]), nan, nan, len(gaps[name])) if gaps[name] else None
        rows.append(((f"{place}, caption", statement), (Entry(ours, _printed(place, "all", name, model)),)))
    note = "Means over the datasets, each of which counts the same; the paper's are over its own twelve."
    title = "What captions say with a number"
    return Table(
        "Sized statements", title, note, ("place", "statement"), ("tau",), tuple(rows) if any(gaps.values()) else ()
    )


def _counterfactuals(results: Results) -> Table:
    rows = []
    for cell in results.select(PERMUTED, ADVERSARIAL, LARGEST, role=None):
        measures = (
            cell.columns[PERMUTED],
            little_change_at_high_weight(cell),
            cell.columns[ADVERSARIAL],
            near_cap(cell),
            cell.columns[WITHOUT_TOP],
        )
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    columns = (
        "median change, permuted",
        f"share of texts where it is below {LITTLE}, given a largest weight of {HIGH} or more",
        "eps-max JSD",
        f"share of texts at {NEAR} of its cap or more",
        "share of predictions that stay with no weight on the top word",
    )
    note = (
        "What Figures 6 to 8 show, as numbers; the paper prints none. For two classes the adversary is exact; for more "
        "classes the JSD is at least as large as the one given."
    )
    return Table("Figures 6 to 8", "Permuted and adversarial attention", note, ("data", "model"), columns, tuple(rows))


def _searched(results: Results) -> Table:
    rows = []
    for cell in results.select(ADVERSARIAL, BY_SEARCH, role=SEARCH):
        by_search, best = cell.columns[BY_SEARCH], cell.columns[ADVERSARIAL]
        falls_short = only_where((by_search < ALMOST * best).double(), best > 0)
        rows.append(((cell.data, cell.model), (entry(by_search), entry(best), entry(falls_short))))
    note = (
        "eps-max JSD of the same texts by the authors' search (five candidates, 500 steps of Adam) and by ours, which "
        "is exact for two classes; for more classes, each finds at least so much."
    )
    columns = ("by their search", "by ours", f"share of texts where the search finds less than {ALMOST} of ours")
    return Table(
        "Figure 7, by search", "Their search next to the exact adversary", note, ("data", "model"), columns, tuple(rows)
    )


def _bounds(results: Results) -> Table:
    names = ("gradient_agreement.tau_permuted", EACH_OTHER, "permutation.worst_tvd", "permutation.some_flips")
    rows = []
    for cell in results.select(*names, GRADIENT_P, "prediction.items"):
        p, length = cell.columns[GRADIENT_P], cell.columns["prediction.items"]
        is_longer = length > length.median()
        significant = only_where((p < SIGNIFICANT).double(), ~p.isnan())
        halves = (only_where(significant, half) for half in (~is_longer, is_longer))
        measures = (*(cell.columns[name].double() for name in names), *halves)
        rows.append(((cell.data, cell.model), tuple(map(entry, measures))))
    columns = (
        "tau of permuted weights with their own gradient",
        "tau of the gradient with leave-one-out",
        "change by the worst permutation",
        "share of texts where some permutation changes the decision",
        "share where tau with the gradient is significant, texts up to the median length",
        "the same, longer texts",
    )
    note = (
        "What tau must be compared with: weights that are used agree with their own gradient even if they are permuted "
        "(the floor), and two importance measures that do not look at attention agree only so far. With a tanh head "
        "the worst permutation is the worst of the 100 drawn. Significance depends on length, as the caption says."
    )
    return Table("Floor and yardstick", "What a tau means", note, ("data", "model"), columns, tuple(rows))


def remarks(results: Results) -> list[str]:
    """How far our Table 2 is from the paper's, next to how far the authors' own later runs are."""
    distances: dict[str, list[tuple[float, float]]] = {"the gradient": [], "leave-one-out": []}
    for _, entries in _agreement("Table 2", results.select(GRADIENT, LEAVE_ONE_OUT)).rows:
        for name, own, later in zip(distances, entries[:6:3], entries[6:], strict=True):
            if own.ours is not None and own.paper is not None and later.paper is not None and own.ours.n:
                distances[name].append((abs(own.ours.value - own.paper), abs(later.paper - own.paper)))
    return [
        f"Mean distance from the paper's tau with {name}, over {len(pairs)} cells of Table 2: ours "
        f"{fmean(ours for ours, _ in pairs):.2f}, the authors' own later runs {fmean(own for _, own in pairs):.2f}."
        for name, pairs in distances.items()
        if pairs
    ]


PAPER = "Jain & Wallace 2019, {}".format
AGREEMENTS = {"leave-one-out": LEAVE_ONE_OUT, "gradient": GRADIENT}


def figures(results: Results) -> list[Figure]:
    """Figures 1 to 8."""
    cells = results.select()
    adversaries = [
        replace(cell, model=f"{cell.encoder} {cell.method}")
        for cell in results.select(ADVERSARIAL, PERMUTED, role=None)
        if (cell.encoder, cell.method) in MAIN
    ]
    searched = results.select(ADVERSARIAL, BY_SEARCH, role=SEARCH)
    tau, difference = "Kendall's tau", "difference of Kendall's tau"
    divergence, by_weight = "eps-max JSD", "Adversarial attention, by the largest weight"
    change = "median change of the prediction"
    more_than_attention = "How much more gradient and leave-one-out agree with each other than with attention (BiLSTM)"
    return [
        *_heat_map(searched),
        *histogram_figure(
            cells, GRADIENT, tau, (-1.0, 1.0), Heading("figure_2", "Attention and gradient", PAPER("Figure 2"))
        ),
        *intervals_figure(
            {
                (cell.data, f"minus tau of attention and {name}"): estimate(
                    cell.columns[EACH_OTHER] - cell.columns[column], is_difference=True
                )
                for name, column in AGREEMENTS.items()
                for cell in results.select(EACH_OTHER, column, encoder=BILSTM, method=ADDITIVE)
            },
            difference,
            Heading("figure_3_4", more_than_attention, PAPER("Figures 3 and 4")),
        ),
        *intervals_figure(
            {
                (cell.data, f"{name}, average - BiLSTM"): estimate(
                    paired(average.columns[column], cell.columns[column]), is_difference=True
                )
                for name, column in AGREEMENTS.items()
                for cell in results.select(column, encoder=BILSTM, method=ADDITIVE)
                if (average := results.find(column, data=cell.data, encoder=AVERAGE, method=ADDITIVE)) is not None
            },
            difference,
            Heading("figure_5", "Agreement with attention: average - BiLSTM", PAPER("Figure 5")),
        ),
        *by_largest_figure(cells, PERMUTED, change, Heading("figure_6", "Permuted attention", PAPER("Figure 6"))),
        *histogram_figure(
            adversaries,
            ADVERSARIAL,
            divergence,
            (0.0, 0.7),
            Heading("figure_7", "Adversarial attention", PAPER("Figure 7")),
        ),
        *measures_figure(
            searched,
            {BY_SEARCH: "their search", ADVERSARIAL: "ours"},
            divergence,
            Heading("figure_7_search", "Their search and ours, on the same texts", PAPER("Figure 7")),
        ),
        *by_largest_figure(adversaries, ADVERSARIAL, divergence, Heading("figure_8", by_weight, PAPER("Figure 8"))),
    ]


READ_AS = {"attention": "attention", "adversarial_attention": "most different"}
WIDEST_TEXT = 16
"""Words that fit into a line of a heat map."""


def _heat_map(cells: Sequence[Cell]) -> list[Figure]:
    """The longest shown text of each set that fits into a line, under its attention and the most different one."""
    shown = [cell.shown.with_columns(model=pl.lit(cell.data)) for cell in cells if len(cell.shown)]
    if not shown:
        return []
    words = pl.concat(shown).filter(pl.col("measure").is_in(list(READ_AS)))
    lengths = words.group_by("model", "example").agg(length=pl.col("item").max() + 1)
    chosen = lengths.filter(pl.col("length") <= WIDEST_TEXT).sort("length", "example").group_by("model").last()
    frame = words.join(chosen, on=["model", "example"], maintain_order="left").select(
        "model",
        "word",
        read=pl.col("measure").replace_strict(READ_AS, return_dtype=pl.String),
        place="item",
        weight="value",
        perturbed=pl.lit(False),
    )
    top = frame.sort("weight", descending=True).group_by("model", "read", maintain_order=True).first()
    described = "; ".join(map("{}, {}: {} {:.2f}".format, *top.select("model", "read", "word", "weight")))
    chart = heat_maps(frame, list(READ_AS.values()), title=None)
    heading = Heading("figure_1", "A text of each dataset (BiLSTM)", PAPER("Figure 1 and appendix D"))
    caption = "The darker a word, the more weight. Below: the most different attention that gives the same prediction."
    return [study_figure(heading, chart, caption=caption, alt=f"Heat maps of texts. Most weight: {described}.")]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns=COLUMNS,
    figures=figures,
    remarks=remarks,
)
