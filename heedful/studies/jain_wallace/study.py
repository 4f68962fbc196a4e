"""Jain and Wallace (2019), Attention is not Explanation: agreement, permuted attention, adversarial attention."""

from heedful.battery.questions import Values
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, NetworkSettings, Run, TrainingSettings
from heedful.studies.claims import Where, entry, judge, only_where, paired, score_estimate
from heedful.studies.figures import LARGEST, by_largest_figure, claims_figure, histogram_figure
from heedful.studies.jain_wallace.preprocessing import VECTORS, data_of, text_of
from heedful.studies.published import number
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table, Wanted

NAME = "jain_wallace"
SETS = ("sst2", "imdb", "newsgroups_sports", "ag_news", "babi_task1", "babi_task2", "babi_task3", "snli")
ENCODERS = ("bilstm", "average", "cnn")

TESTS = ("gradient_agreement", "leave_one_out_agreement", "permutation", "adversary")
GRADIENT, LEAVE_ONE_OUT = "gradient_agreement.tau", "leave_one_out_agreement.tau"
EACH_OTHER = "leave_one_out_agreement.tau_gradient"
PERMUTED = "permutation.median_tvd"
ADVERSARY, CAP = "adversary.js", "adversary.cap"

HIGH = 0.5
"""A largest weight that suggests one word as the explanation."""
LITTLE = 0.1
"""A change of the answer that is small."""
NEAR = 0.9
"""The share of its cap from which on a divergence is near it."""


def wanted(scale: str) -> list[Wanted]:
    """Each set with each encoder and attention; dot attention from fewer seeds below the paper's scale."""
    sets = ("sst2", "newsgroups_sports", "ag_news", "babi_task1") if scale == "small" else SETS
    seeds = {"small": {"additive": 2}, "medium": {"additive": 2, "dot": 1}, "paper": {"additive": 5, "dot": 5}}[scale]
    return [
        Wanted(source, f"{encoder} {attention}", _run(source, encoder, attention, seed, scale), audit=_audit(scale))
        for source in sets
        for attention, count in seeds.items()
        for encoder in ENCODERS
        for seed in range(count)
    ]


def _audit(scale: str) -> AuditSettings:
    examples = {"small": 300, "medium": 300, "paper": None}[scale]
    return AuditSettings(tests=TESTS, examples=examples, shown=0)


def _run(source: str, encoder: str, attention: str, seed: int, scale: str) -> Run:
    babi = source.startswith("babi")
    data, text = data_of(source, scale), text_of(source, scale)
    widths = {"bilstm": 128, "average": 256, "cnn": 64}
    network = VECTORS
    if babi:
        # Small models that must read every word, and all the examples there are time for.
        data = data.model_copy(update={"train_limit": {"small": 2_000, "medium": 4_000, "paper": None}[scale]})
        text = text.model_copy(update={"max_tokens": None})
        widths = {"bilstm": 30, "average": 60, "cnn": 8}
        network = NetworkSettings(embed_size=50)
    changes = {"encoder": encoder, "attention": attention, "hidden_size": widths[encoder]}
    network = network.model_copy(update=changes)
    return Run(data=data, text=text, network=network, training=_training(source, scale), seed=seed)


def _training(source: str, scale: str) -> TrainingSettings:
    if source.startswith("babi"):
        epochs = {"small": 15, "medium": 20, "paper": 100}[scale]
        return TrainingSettings(
            epochs=epochs, patience=5, metric="accuracy", class_weights=False, loss_sum="mean", learning_rate=5e-3
        )
    if source == "snli":
        return TrainingSettings(epochs=6 if scale == "paper" else 4, metric="accuracy", class_weights=False)
    return TrainingSettings(epochs=8 if scale == "paper" else 5)


def tables(results: Results) -> list[Table]:
    """Table 1 (performance), Table 2 (agreement), and what Figures 6 to 8 show as numbers."""
    return [_performance(results), _agreement(results), _counterfactuals(results)]


def _performance(results: Results) -> Table:
    rows = []
    for cell in results.cells.values():
        metric = "f1" if len(cell.runs[0].labels) == 2 else "accuracy"
        printed = number(NAME, item="Table 1", data=cell.data, model=cell.model, measure=metric)
        entries = (Entry(score_estimate(cell, metric), printed), Entry(score_estimate(cell, "roc_auc")))
        rows.append(((cell.data, cell.model, metric), entries))
    note = "F1 of the positive class for two classes, accuracy for more. Ours: mean and range over seeds."
    return Table(
        "Table 1", "How well the models predict", note, ("data", "model", "measure"), ("score", "AUC"), tuple(rows)
    )


def _agreement(results: Results) -> Table:
    rows = [
        ((cell.data, cell.model, label), _agreements(cell, label, where))
        for cell in results.having(GRADIENT, LEAVE_ONE_OUT)
        for label, where in _by_class(cell)
    ]
    note = "Kendall's tau-b of attention with each, by predicted class; and the share of texts significant at .05."
    columns = ("tau gradient", "significant", "tau leave-one-out", "significant")
    return Table(
        "Table 2",
        "Does attention agree with other importance measures?",
        note,
        ("data", "model", "predicted"),
        columns,
        tuple(rows),
    )


def _agreements(cell: Cell, label: str, where: Where) -> tuple[Entry, ...]:
    """Tau and the share that is significant, with the gradient and with leave-one-out."""
    measured = {
        "tau_gradient": cell.columns[GRADIENT],
        "significant_gradient": cell.columns["gradient_agreement.p"] < 0.05,
        "tau_leave_one_out": cell.columns[LEAVE_ONE_OUT],
        "significant_leave_one_out": cell.columns["leave_one_out_agreement.p"] < 0.05,
    }
    entries = []
    for name, values in measured.items():
        measure = name if label == "all" else f"{name} {label}"
        printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure=measure)
        undefined = cell.columns[GRADIENT if "gradient" in name else LEAVE_ONE_OUT].isnan()
        kept = only_where(values.double(), where & ~undefined)
        entries.append(entry(kept, f"{cell.data} {cell.model} {measure}", printed))
    return tuple(entries)


def _by_class(cell: Cell) -> list[tuple[str, Where]]:
    """The texts by predicted class as the paper splits them: not at all for question answering."""
    predicted = cell.columns["prediction.predicted"]
    if cell.data.startswith("babi"):
        return [("all", predicted >= 0)]
    return [(f"class {label}", predicted == label) for label in range(len(cell.runs[0].labels))]


def _counterfactuals(results: Results) -> Table:
    rows = []
    for cell in results.having(PERMUTED, ADVERSARY, LARGEST):
        measures = {
            "median change": cell.columns[PERMUTED],
            "small though high": _little_though_high(cell),
            "eps-max JSD": cell.columns[ADVERSARY],
            "near its cap": _near_cap(cell),
            "answer stands without the top word": cell.columns["adversary.without_top_1"],
        }
        entries = tuple(entry(values, f"{cell.data} {cell.model} {name}") for name, values in measures.items())
        rows.append(((cell.data, cell.model), entries))
    columns = (
        "median change, permuted",
        f"share of it below {LITTLE} where the largest weight is {HIGH} or more",
        "eps-max JSD",
        f"share at {NEAR} of its cap or more",
        "share of answers that stand with no weight on the top word",
    )
    note = "What Figures 6 to 8 draw, as numbers; the paper prints none. For two classes the adversary is exact."
    return Table("Figures 6 to 8", "Permuted and adversarial attention", note, ("data", "model"), columns, tuple(rows))


def _little_though_high(cell: Cell) -> Values:
    return only_where((cell.columns[PERMUTED] < LITTLE).double(), cell.columns[LARGEST] >= HIGH)


def _near_cap(cell: Cell) -> Values:
    cap = cell.columns[CAP]
    return only_where((cell.columns[ADVERSARY] >= NEAR * cap).double(), cap > 0)


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, each as a number above a threshold."""
    recurrent = {
        cell.data: cell.columns for cell in results.having(GRADIENT, LEAVE_ONE_OUT, EACH_OTHER, model="bilstm additive")
    }
    both = {
        data: (results.cells[data, "average additive"].columns, columns)
        for data, columns in recurrent.items()
        if (data, "average additive") in results.cells
    }
    cells = {cell.data: cell for cell in results.having(PERMUTED, ADVERSARY, model="bilstm additive")}
    return [
        judge(
            "Attention agrees with the gradient more for the average encoder than for the BiLSTM.",
            "section 4.1, Table 2, Figure 2",
            "tau with the gradient, average less BiLSTM, text by text",
            {data: paired(average[GRADIENT], bilstm[GRADIENT]) for data, (average, bilstm) in both.items()},
        ),
        judge(
            "Attention agrees with leave-one-out more for the average encoder than for the BiLSTM.",
            "section 4.1, Figure 5",
            "tau with leave-one-out, average less BiLSTM, text by text",
            {data: paired(average[LEAVE_ONE_OUT], bilstm[LEAVE_ONE_OUT]) for data, (average, bilstm) in both.items()},
        ),
        judge(
            "Agreement of attention with the gradient is modest for the BiLSTM: at or below .5.",
            "section 4.1, Figure 2",
            ".5 less tau with the gradient",
            {data: 0.5 - columns[GRADIENT] for data, columns in recurrent.items()},
        ),
        judge(
            "Gradient and leave-one-out agree with each other more than leave-one-out with attention (BiLSTM).",
            "section 4.1, Figure 3",
            "tau of gradient and leave-one-out, less tau of attention and leave-one-out",
            {data: columns[EACH_OTHER] - columns[LEAVE_ONE_OUT] for data, columns in recurrent.items()},
        ),
        judge(
            "Gradient and leave-one-out agree with each other more than the gradient with attention (BiLSTM).",
            "section 4.1, Figure 4",
            "tau of gradient and leave-one-out, less tau of attention and gradient",
            {data: columns[EACH_OTHER] - columns[GRADIENT] for data, columns in recurrent.items()},
        ),
        judge(
            "Permuting attention changes little even where one weight is high (BiLSTM).",
            "section 4.2.1, Figure 6",
            f"share of texts whose median change is below {LITTLE}, of those whose largest weight is {HIGH} or more",
            {name: _little_though_high(cell) for name, cell in cells.items()},
            threshold=0.5,
        ),
        judge(
            "For most texts some very different attention gives the same answer (BiLSTM).",
            "section 4.2.2, Figure 7",
            f"share of texts whose eps-max JSD is at least {NEAR} of the most that any attention can reach",
            {name: _near_cap(cell) for name, cell in cells.items()},
            threshold=0.5,
        ),
        judge(
            "So it is even where one weight is high (BiLSTM).",
            "section 4.2.2, Figure 8",
            f"the same share, of texts whose largest weight is {HIGH} or more",
            {name: only_where(_near_cap(cell), cell.columns[LARGEST] >= HIGH) for name, cell in cells.items()},
            threshold=0.5,
        ),
    ]


def figures(results: Results) -> list[Figure]:
    """Figures 2 to 8, redrawn from our rows."""
    paper, judged = "Jain & Wallace 2019, {}".format, claims(results)
    tau, change = "Kendall's tau", "difference of Kendall's tau"
    return [
        *histogram_figure(
            results, GRADIENT, tau, -1.0, 1.0, name="figure_2", title="Attention and gradient", source=paper("Figure 2")
        ),
        *claims_figure(
            judged[3:5],
            change,
            name="figure_3_4",
            title="Gradient and leave-one-out agree with each other: by how much more than with attention (BiLSTM)",
            source=paper("Figures 3 and 4"),
        ),
        *claims_figure(
            judged[:2],
            change,
            name="figure_5",
            title="Agreement with attention: average less BiLSTM",
            source=paper("Figure 5"),
        ),
        *by_largest_figure(
            results,
            PERMUTED,
            "median change of the answer",
            name="figure_6",
            title="Permuted attention",
            source=paper("Figure 6"),
        ),
        *histogram_figure(
            results,
            ADVERSARY,
            "eps-max JSD",
            0.0,
            0.7,
            name="figure_7",
            title="Adversarial attention",
            source=paper("Figure 7"),
        ),
        *by_largest_figure(
            results,
            ADVERSARY,
            "eps-max JSD",
            name="figure_8",
            title="Adversarial attention, by the largest weight",
            source=paper("Figure 8"),
        ),
    ]


STUDY = Study(
    name="jain-wallace",
    title="Attention is not Explanation",
    paper="Jain and Wallace (2019), Attention is not Explanation, NAACL, arXiv:1902.10186",
    scales={
        "small": "SST, 20 News (hockey, baseball), AG News, bAbI 1; BiLSTM, average and CNN with additive attention; "
        "2 seeds; 2,000 training texts of at most 100 words; 300 test texts audited",
        "medium": "all eight sets; BiLSTM, average and CNN with additive (2 seeds) and dot attention (1 seed); "
        "3,000 training texts (bAbI 4,000) of at most 120 words; 300 test texts audited",
        "paper": "all eight sets, whole; BiLSTM, average and CNN with additive and dot attention; 5 seeds; every test "
        "text audited (500 where there are three classes or more)",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
