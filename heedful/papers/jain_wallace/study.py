"""Jain and Wallace (2019), Attention is not Explanation: agreement, permuted attention, adversarial attention."""

from heedful.jobs.planning import RunWithBase
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
from heedful.papers.published import number
from heedful.papers.reproduction import (
    ENCODER,
    MINILM,
    NEVER_EARLY,
    NORMAL_START,
    Cell,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    encoders_with_minilm,
    remark_on_minilm,
    study_file,
)
from heedful.papers.study_figures import LARGEST, Heading, by_largest_figure, histogram_figure, intervals_figure
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings

# Texts as Jain and Wallace prepared them, and after them Wiegreffe and Pinter, Amini and Kosseim.

LONGER_THAN = {"sst2": 5, "imdb": 6, "newsgroups_sports": 6}
"""Their strict lower bounds on the length of a text."""

TRAIN_LIMIT = {"small": 2_000, "medium": 3_000, "paper": None}
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}

VECTORS = NetworkSettings(vectors="glove_6b_100d", missing="zero", **NORMAL_START)
"""Words without a vector start at zero, as in their code."""


def data_of(source: str, scale: str) -> DataSettings:
    """The set; below the paper's scale a sample, for IMDB from the small copy, which is faster to read."""
    full = scale == "paper"
    name = "imdb_small" if source == "imdb" and not full else source
    return DataSettings(source=name, train_limit=TRAIN_LIMIT[scale], test_limit=None if full else 1_000)


def text_of(source: str, scale: str) -> TextSettings:
    """Words without punctuation, between a start and an end symbol; long texts are cut below the paper's scale."""
    return TextSettings(
        words="alphanumeric",
        start_end=True,
        longer_than=LONGER_THAN.get(source),
        shorter_than=500 if source == "newsgroups_sports" and scale == "paper" else None,
        max_tokens=MOST_WORDS[scale],
    )


NAME = "jain_wallace"
BILSTM, AVERAGE, CNN = "bilstm", "average", "cnn"
ADDITIVE, DOT = "additive", "dot"
BABI = ("babi_task1", "babi_task2", "babi_task3")

SETS = ("sst2", "imdb", "newsgroups_sports", "ag_news", *BABI, "snli")
ENCODERS = (BILSTM, AVERAGE, CNN)
WITH_MINILM = {"small": ("sst2",), "medium": ("sst2", "ag_news"), "paper": ("sst2", "ag_news")}
"""Sets that are read by MiniLM, too, which is none of the paper's encoders."""
SEEDS = {"small": {ADDITIVE: 2}, "medium": {ADDITIVE: 2, DOT: 1}, "paper": {ADDITIVE: 5, DOT: 5}}
"""How many seeds each attention is trained from."""
TESTS = ("gradient_agreement", "leave_one_out_agreement", "permutation", "adversarial_attention")


def runs(scale: str) -> list[StudyRun]:
    """Each set with each encoder and attention; dot attention from fewer seeds below the paper's scale."""
    sets = ("sst2", "newsgroups_sports", "ag_news", "babi_task1") if scale == "small" else SETS
    audit = AuditSettings(tests=TESTS, examples={"small": 300, "medium": 300, "paper": None}[scale], shown=0)
    return [
        StudyRun(
            data=source,
            model=f"{encoder} {attention}",
            encoder=encoder,
            method=attention,
            run=RunWithBase(_run(source, encoder, attention, seed, scale)),
            audit=audit,
        )
        for source in sets
        for attention, count in SEEDS[scale].items()
        for encoder in encoders_with_minilm(ENCODERS, wanted=source in WITH_MINILM[scale] and attention == ADDITIVE)
        for seed in range(count)
    ]


def _run(source: str, encoder: str, attention: str, seed: int, scale: str) -> Run:
    data, text, network = data_of(source, scale), text_of(source, scale), VECTORS
    widths = {BILSTM: 128, AVERAGE: 256, CNN: 64}
    if source in BABI:
        # Small models that must read every word, and as many examples as time allows.
        data = update_settings(data, {"train_limit": {"small": 2_000, "medium": 4_000, "paper": None}[scale]})
        text = update_settings(text, {"max_tokens": None})
        widths = {BILSTM: 30, AVERAGE: 60, CNN: 8}
        network = NetworkSettings(embed_size=50, **NORMAL_START)
    changes = {"encoder": encoder, "attention": attention, "hidden_size": widths.get(encoder, 128)}
    if encoder == MINILM:
        network, changes = NetworkSettings(**NORMAL_START), {"encoder": ENCODER, "attention": attention}
    return Run(
        data=data,
        text=text,
        network=update_settings(network, changes),
        training=_training(source, scale),
        seed=seed,
    )


def _training(source: str, scale: str) -> TrainingSettings:
    if source in BABI:
        epochs = {"small": 15, "medium": 20, "paper": 100}[scale]
        return TrainingSettings(
            **{**NEVER_EARLY, "patience": 5},
            epochs=epochs,
            metric="accuracy",
            class_weights=False,
            loss_sum="mean",
            learning_rate=5e-3,
        )
    if source == "snli":
        return TrainingSettings(
            **NEVER_EARLY, epochs=6 if scale == "paper" else 4, metric="accuracy", class_weights=False
        )
    return TrainingSettings(**NEVER_EARLY, epochs=8 if scale == "paper" else 5)


def remarks(results: Results) -> list[str]:
    """What is missing."""
    return remark_on_minilm(results, "a pretrained transformer beside the paper's encoders")


SIGNIFICANT = 0.05


def tables(results: Results) -> list[Table]:
    """Table 1 (performance), Table 2 (agreement), and what Figures 6 to 8 show as numbers."""
    return [_performance(results), _agreement(results), _counterfactuals(results)]


def _performance(results: Results) -> Table:
    rows = []
    for cell in results.select():
        metric = "f1" if cell.classes == 2 else "accuracy"
        printed = number(NAME, item="Table 1", data=cell.data, model=cell.model, measure=metric)
        entries = (Entry(score_estimate(cell, metric), printed), Entry(score_estimate(cell, "roc_auc")))
        rows.append(((cell.data, cell.model, metric), entries))
    note = "F1 of the positive class for two classes, accuracy for more."
    return Table(
        "Table 1", "How well the models predict", note, ("data", "model", "measure"), ("score", "AUC"), tuple(rows)
    )


def _agreement(results: Results) -> Table:
    rows = [
        ((cell.data, cell.model, label), _agreement_entries(cell, label, where))
        for cell in results.select(GRADIENT, LEAVE_ONE_OUT)
        for label, where in _by_class(cell)
    ]
    note = "Kendall's tau-b of attention with each, by predicted class; and the share of texts significant at .05."
    return Table(
        "Table 2",
        "Does attention agree with other importance measures?",
        note,
        ("data", "model", "predicted"),
        ("tau gradient", "significant", "tau leave-one-out", "significant"),
        tuple(rows),
    )


def _agreement_entries(cell: Cell, label: str, where: Where) -> tuple[Entry, ...]:
    """Tau and the share that is significant, with the gradient and with leave-one-out."""
    entries = []
    for name, tau_column, p_column in (
        ("gradient", GRADIENT, GRADIENT_P),
        ("leave_one_out", LEAVE_ONE_OUT, LEAVE_ONE_OUT_P),
    ):
        tau, is_significant = cell.columns[tau_column], (cell.columns[p_column] < SIGNIFICANT).double()
        for kind, values in (("tau", tau), ("significant", is_significant)):
            measure = f"{kind}_{name}" if label == "all" else f"{kind}_{name} {label}"
            printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure=measure)
            kept = only_where(values, where & ~tau.isnan())
            entries.append(entry(kept, printed))
    return tuple(entries)


def _by_class(cell: Cell) -> list[tuple[str, Where]]:
    """The texts by predicted class as the paper splits them: not at all for question answering."""
    predicted = cell.columns["prediction.predicted"]
    if cell.data in BABI:
        return [("all", predicted >= 0)]
    return [(f"class {label}", predicted == label) for label in range(cell.classes)]


def _counterfactuals(results: Results) -> Table:
    rows = []
    for cell in results.select(PERMUTED, ADVERSARIAL, LARGEST):
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
    note = "What Figures 6 to 8 show, as numbers; the paper prints none. For two classes the adversary is exact."
    return Table("Figures 6 to 8", "Permuted and adversarial attention", note, ("data", "model"), columns, tuple(rows))


PAPER = "Jain & Wallace 2019, {}".format
AGREEMENTS = {"leave-one-out": LEAVE_ONE_OUT, "gradient": GRADIENT}


def figures(results: Results) -> list[Figure]:
    """Figures 2 to 8."""
    cells = results.select()
    tau, difference = "Kendall's tau", "difference of Kendall's tau"
    divergence, by_weight = "eps-max JSD", "Adversarial attention, by the largest weight"
    change = "median change of the prediction"
    more_than_attention = "How much more gradient and leave-one-out agree with each other than with attention (BiLSTM)"
    return [
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
            cells, ADVERSARIAL, divergence, (0.0, 0.7), Heading("figure_7", "Adversarial attention", PAPER("Figure 7"))
        ),
        *by_largest_figure(cells, ADVERSARIAL, divergence, Heading("figure_8", by_weight, PAPER("Figure 8"))),
    ]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns=COLUMNS,
    figures=figures,
    remarks=remarks,
)
