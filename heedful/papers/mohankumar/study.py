"""Mohankumar et al. (2020): LSTM states that differ, by a penalty on conicity or by construction, against vanilla."""

from heedful.jobs.planning import RunWithBase
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number
from heedful.papers.reproduction import NEVER_EARLY, Entry, Results, Study, StudyRun, Table, study_file
from heedful.settings import AuditSettings, Option, Run, TrainingSettings
from heedful.settings.validation import update_settings

NAME = "mohankumar"
VANILLA, DIVERSITY, ORTHOGONAL = "vanilla", "diversity", "orthogonal"
ENCODERS = {VANILLA: "lstm", DIVERSITY: "lstm", ORTHOGONAL: "orthogonal_lstm"}
"""Of each model, all of which are called LSTM."""
OPTIONS: dict[str, dict[str, Option]] = {DIVERSITY: {"weight": 0.5}}
SETS = ("sst2", "newsgroups_sports", "imdb", "snli")
SEEDS = {"small": 3, "medium": 3, "paper": 5}
EXAMPLES = {"small": 200, "medium": 300, "paper": 1_000}
EPOCHS = {"small": 5, "medium": 6, "paper": 8}
UNITS = {"small": 128, "medium": 128, "paper": 256}
CONICITY = "shape.conicity"
MEASURES = {
    "permutation.median_tvd": "permuted weights (TVD)",
    "erase_until_flip.fraction_attention": "erased until the flip",
    "gradient_agreement.tau": "tau with the gradient",
    "shape.punctuation": "weight on punctuation",
}
TESTS = ("shape", *dict.fromkeys(name.split(".")[0] for name in MEASURES if not name.startswith("shape")))


def runs(scale: str) -> list[StudyRun]:
    """Each dataset with each model."""
    audit = AuditSettings(tests=TESTS, examples=EXAMPLES[scale], shown=0)
    return [
        StudyRun(source, f"lstm {method}", "lstm", method, RunWithBase(_run(source, method, seed, scale)), audit=audit)
        for source in (SETS[:2] if scale == "small" else SETS)
        for method in ENCODERS
        for seed in range(SEEDS[scale])
    ]


def _run(source: str, method: str, seed: int, scale: str) -> Run:
    training = TrainingSettings(
        **NEVER_EARLY,
        method=DIVERSITY if method == DIVERSITY else VANILLA,
        options=OPTIONS.get(method, {}),
        epochs=EPOCHS[scale],
        learning_rate=1e-3,
        metric="accuracy",
    )
    network = {"encoder": ENCODERS[method], "attention": "additive", "hidden_size": UNITS[scale]}
    return Run(
        data=data_of(source, scale),
        text=text_of(source, scale),
        network=update_settings(VECTORS, network),
        training=training,
        seed=seed,
    )


def tables(results: Results) -> list[Table]:
    """Accuracy and conicity, then what diverse states change."""
    return [_accuracy_and_conicity(results), _faithfulness(results)]


def _accuracy_and_conicity(results: Results) -> Table:
    rows = []
    for cell in results.select(CONICITY):
        ours = {"accuracy": score_estimate(cell, "accuracy"), "conicity": entry(cell.columns[CONICITY]).ours}
        printed, later = (
            {name: number(NAME, item=item, data=cell.data, model=cell.method, measure=name) for name in ours}
            for item in ("Table 2", "later runs")
        )
        own = (Entry(estimate, printed[name]) for name, estimate in ours.items())
        rows.append(((cell.data, cell.method), (*own, *(Entry(None, later[name]) for name in ours))))
    titles = ("accuracy", "conicity", "accuracy, later runs", "conicity, later runs")
    note = "On the audited texts. Later runs: the authors' code, run by Bouwman et al. (2021)."
    return Table("Table 2", "Accuracy and conicity", note, ("data", "model"), titles, tuple(rows))


def _faithfulness(results: Results) -> Table:
    rows = tuple(
        ((cell.data, cell.method), tuple(entry(cell.columns.get(column)) for column in MEASURES))
        for cell in results.select(CONICITY)
    )
    note = (
        "Median change of the prediction if weights are permuted; share of a text that is erased in the order of "
        "attention before the decision changes; Kendall's tau with the gradient; weight on punctuation."
    )
    return Table("Faithfulness", "What diverse states change", note, ("data", "model"), tuple(MEASURES.values()), rows)


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    figures=lambda results: [],
)
