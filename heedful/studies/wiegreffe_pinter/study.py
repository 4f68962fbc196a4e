"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from functools import partial

from heedful.battery.questions import Values
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.studies.claims import entry, judge, paired, score_estimate
from heedful.studies.figures import by_largest_figure, claims_figure, histogram_figure
from heedful.studies.jain_wallace.preprocessing import VECTORS, data_of, text_of
from heedful.studies.published import number
from heedful.studies.study import Claim, Entry, Results, Study, Table, Wanted

NAME = "wiegreffe_pinter"
SETS = ("sst2", "imdb", "ag_news", "newsgroups_sports")
CORRECT, SEEDS, ADVERSARY = "prediction.correct", "seeds.max_js", "adversary.js"
BASE, WITHOUT = "bilstm", "bilstm, uniform"
MLP, MLP_UNIFORM, MLP_IMPOSED = "mlp", "mlp, uniform", "mlp, attention of the bilstm"
MODELS = (BASE, WITHOUT, MLP, MLP_UNIFORM, MLP_IMPOSED)
AGAINST = "bilstm, against other seeds"
NOTHING_LOST = 0.02
"""Accuracy that may be lost and still count as little."""


def wanted(scale: str) -> list[Wanted]:
    """BiLSTM and MLP, each with attention of its own and uniform; the MLP with the BiLSTM's; the BiLSTM's seeds."""
    sets = ("sst2", "ag_news", "newsgroups_sports") if scale == "small" else SETS
    seeds, others = {"small": (2, 3), "medium": (2, 5), "paper": (5, 8)}[scale]
    answers = AuditSettings(tests=("prediction",), shown=0)
    found = []
    for source in sets:
        run = partial(_run, source, scale)
        beside = tuple(run("bilstm", "additive", 100 + seed) for seed in range(others))
        audit = AuditSettings(tests=("adversary",), shown=0)
        found.append(Wanted(source, AGAINST, run("bilstm", "additive", 0), audit=audit, seeds=beside))
        for seed in range(seeds):
            base = run("bilstm", "additive", seed)
            found += [
                Wanted(source, BASE, base, audit=answers),
                Wanted(source, WITHOUT, run("bilstm", "uniform", seed), audit=answers),
                Wanted(source, MLP, run("average", "additive", seed), audit=answers),
                Wanted(source, MLP_UNIFORM, run("average", "uniform", seed), audit=answers),
                Wanted(source, MLP_IMPOSED, run("average", "frozen", seed), base, answers),
            ]
    return found


def _run(source: str, scale: str, encoder: str, attention: str, seed: int) -> Run:
    changes = {"encoder": encoder, "attention": attention, "activation": "tanh"}
    return Run(
        data=data_of(source, scale),
        text=text_of(source, scale),
        network=VECTORS.model_copy(update=changes),
        training=TrainingSettings(epochs=8 if scale == "paper" else 5),
        seed=seed,
    )


def tables(results: Results) -> list[Table]:
    """F1 of every model, what attention adds, and the spread over seeds."""
    return [_scores(results), _gains(results), _spread(results)]


def _scores(results: Results) -> Table:
    rows = []
    for source in results.datasets:
        entries = []
        for model in MODELS:
            cell = results.cells.get((source, model))
            printed = number(NAME, item="Table 2 of Amini and Kosseim", data=source, model=model, measure="f1")
            entries.append(Entry(score_estimate(cell, "f1") if cell else None, printed))
        rows.append(((source,), tuple(entries)))
    note = "F1 of the positive class: mean and range over seeds. The paper's, as Amini and Kosseim report them."
    return Table("F1", "How well each model predicts", note, ("data",), MODELS, tuple(rows))


def _gains(results: Results) -> Table:
    columns = {
        "bilstm: own attention less uniform": (BASE, WITHOUT),
        "mlp: own attention less uniform": (MLP, MLP_UNIFORM),
        "mlp: the bilstm's attention less its own": (MLP_IMPOSED, MLP),
        "mlp: the bilstm's attention less uniform": (MLP_IMPOSED, MLP_UNIFORM),
    }
    rows = tuple(
        ((source,), tuple(entry(_gain(results, source, *pair), f"{source} {name}") for name, pair in columns.items()))
        for source in results.datasets
    )
    note = "Accuracy gained, text by text, the same seeds."
    return Table("Gain", "What the weights add", note, ("data",), tuple(columns), rows)


def _gain(results: Results, source: str, model: str, other: str) -> Values | None:
    both = [results.cells.get((source, name)) for name in (model, other)]
    found = [cell.columns[CORRECT] for cell in both if cell is not None and CORRECT in cell.columns]
    return paired(found[0], found[1]) if len(found) == 2 else None


def _spread(results: Results) -> Table:
    columns = (SEEDS, "seeds.mean_js", "seeds.flips", ADVERSARY)
    rows = tuple(
        ((cell.data,), tuple(entry(cell.columns[name], f"{cell.data} {name}") for name in columns))
        for cell in results.having(*columns)
    )
    titles = (
        "largest JSD to another seed",
        "mean JSD",
        "decisions changed",
        "largest JSD with the same answer (exact)",
    )
    note = "How far the attention of other seeds lies, beside how far any attention with the same answer could."
    return Table("Seeds", "Does attention depend on the seed?", note, ("data",), titles, rows)


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, each as a number above a threshold."""

    def gains(model: str, other: str) -> dict[str, Values]:
        found = {source: _gain(results, source, model, other) for source in results.datasets}
        return {source: values for source, values in found.items() if values is not None}

    spread = {cell.data: cell.columns for cell in results.having(SEEDS, ADVERSARY)}
    return [
        judge(
            "On these tasks attention is hardly needed: a BiLSTM with uniform weights does nearly as well.",
            "section 3.1",
            f"{NOTHING_LOST} less the accuracy lost with uniform weights",
            {source: NOTHING_LOST - values for source, values in gains(BASE, WITHOUT).items()},
        ),
        judge(
            "Attention differs less between seeds than between a model and its adversary.",
            "section 3.2, Figure 3",
            "largest JSD with the same answer, less the largest JSD to another seed",
            {source: columns[ADVERSARY] - columns[SEEDS] for source, columns in spread.items()},
        ),
        judge(
            "The BiLSTM's attention helps a model without context more than uniform weights do.",
            "section 3.3",
            "accuracy of the MLP with the BiLSTM's attention, less with uniform weights",
            gains(MLP_IMPOSED, MLP_UNIFORM),
        ),
        judge(
            "It helps that model more than attention of its own.",
            "section 3.3",
            "accuracy of the MLP with the BiLSTM's attention, less with its own",
            gains(MLP_IMPOSED, MLP),
        ),
    ]


def figures(results: Results) -> list[Figure]:
    """The spread over seeds (their Figure 3), and what the weights add."""
    paper = "Wiegreffe & Pinter 2019, {}".format
    axis = "largest JSD to another seed"
    title = "What the weights add to accuracy"
    return [
        *by_largest_figure(
            results, SEEDS, axis, name="seeds", title="Seeds, by the largest weight", source=paper("Figure 3")
        ),
        *histogram_figure(
            results, SEEDS, axis, 0.0, 0.7, name="seeds_histogram", title="Seeds", source=paper("Figure 3")
        ),
        *claims_figure(claims(results)[2:], "accuracy gained", name="gains", title=title, source=paper("section 3.3")),
    ]


STUDY = Study(
    name="wiegreffe-pinter",
    title="Attention is not not Explanation",
    paper="Wiegreffe and Pinter (2019), Attention is not not Explanation, EMNLP, arXiv:1908.04626",
    scales={
        "small": "SST, AG News, 20 News (hockey, baseball); BiLSTM and MLP; 2 seeds, 3 more for the spread; 2,000 "
        "training texts of at most 100 words; 1,000 test texts",
        "medium": "IMDB as well; 2 seeds, 5 more for the spread; 3,000 training texts of at most 120 words; 1,000 test "
        "texts",
        "paper": "the same four sets, whole; 5 seeds, 8 more for the spread",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
