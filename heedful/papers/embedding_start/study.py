"""Our own study: how often attention points, by the scale at which embeddings start and by the length of training."""

from typing import Any

from heedful.jobs.planning import RunWithBase
from heedful.papers.claim_rule import entry
from heedful.papers.reproduction import Results, Study, StudyRun, Table, study_file
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings

NAME = "embedding_start"
SETS = ("sst2", "rotten_tomatoes", "reviews")
STARTS: dict[str, dict[str, Any]] = {
    "uniform": {"embedding_start": "uniform"},
    "normal": {"embedding_start": "normal"},
    "glove": {"vectors": "glove_6b_100d", "missing": "normal", "embedding_start": "normal"},
}
"""Takes the place of the encoder in tables and claims: the encoder is always a BiLSTM."""
LENGTHS: dict[str, dict[str, Any]] = {
    "4 epochs": {"epochs": 4, "patience": 0, "chosen_from": 4},
    "early stopping": {"epochs": 8, "patience": 2, "chosen_from": 1},
}
SEEDS = {"small": 3, "medium": 3, "paper": 5}
EXAMPLES = {"small": 200, "medium": 300, "paper": None}
COLUMNS = {
    "prediction.correct": "accuracy",
    "outcome.points_of_decided": "attention points, where a small set decides",
    "outcome.luck": "luck",
}


def runs(scale: str) -> list[StudyRun]:
    """Each dataset with each start and each length of training."""
    audit = AuditSettings(tests=("prediction",), examples=EXAMPLES[scale], shown=0)
    return [
        StudyRun(
            data, f"{start}, {length}", start, length, RunWithBase(_run(data, start, length, seed, scale)), "", audit
        )
        for data in SETS
        for start in STARTS
        for length in LENGTHS
        for seed in range(SEEDS[scale])
    ]


def _run(data: str, start: str, length: str, seed: int, scale: str) -> Run:
    is_small = scale == "small"
    network = {"encoder": "bilstm", "attention": "additive", "embed_size": 300, "hidden_size": 128, **STARTS[start]}
    fixed = {"optimizer": "amsgrad", "learning_rate": 1e-3, "batch_size": 32, "min_epochs": 1, "metric": "roc_auc"}
    return Run(
        data=DataSettings(source=data, train_limit=2_000 if is_small else None),
        text=TextSettings(max_tokens=60 if is_small else None),
        network=NetworkSettings(**network),
        training=TrainingSettings(**fixed, **LENGTHS[length]),
        seed=seed,
    )


def tables(results: Results) -> list[Table]:
    """Accuracy and the share of texts in which attention points."""
    rows = tuple(
        ((cell.data, cell.encoder, cell.method), tuple(entry(cell.columns[name]) for name in COLUMNS))
        for cell in results.select(*COLUMNS)
    )
    head, note = ("data", "start of embeddings", "length of training"), "Means over texts and seeds."
    return [Table("Start and length", "How often attention points", note, head, tuple(COLUMNS.values()), rows)]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    figures=lambda results: [],
)
