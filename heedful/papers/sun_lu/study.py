"""Sun and Lu (2020), Understanding Attention for Text Classification: which words training makes attention look at."""

from collections.abc import Iterator
from math import nan

from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.papers.claim_rule import AUROC, entry, estimate, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import NEVER_EARLY, Cell, Entry, Results, Study, StudyRun, Table, study_file
from heedful.papers.sun_lu.claims import (
    ABOVE,
    AD,
    AD_MODERATE,
    CLAIMED_ON,
    COLUMNS,
    DP,
    DP_A,
    DP_KEPT_SMALL,
    DP_L,
    DP_LARGE,
    DP_MODERATE,
    DP_PLANTED,
    DP_TINY,
    HUGE,
    LAMBDAS,
    LARGE,
    MEASURES,
    MODERATE,
    NAME,
    PLANTED,
    RATIOS,
    SETS,
    TINY,
    ScaledModel,
    figures,
)
from heedful.papers.sun_lu.token_history import indicative, last_scores, neutral, shares, split_shares
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.token_scores import NEUTRAL

FEW = (TINY, MODERATE, HUGE)
FACTORS = {
    "small": {DP: (TINY, 1.0, MODERATE, LARGE, HUGE), DP_A: FEW, AD: FEW, DP_L: (TINY, MODERATE)},
    "medium": {DP: LAMBDAS, DP_A: FEW, AD: FEW, DP_L: FEW},
    "paper": dict.fromkeys((DP, DP_A, AD, DP_L), LAMBDAS),
}
WITH_LSTM = {"small": ("sst2",), "medium": ("sst2", "newsgroups_sports"), "paper": SETS}
"""Where the LSTM is trained, which takes ten times as long as all others."""
RECORDED = (DP_MODERATE, AD_MODERATE, DP_LARGE, DP_KEPT_SMALL)
"""Models whose token scores are recorded."""
CLAIMED = (DP_TINY, *RECORDED)
"""Models that claims are about: trained from SEEDS seeds at every scale, the others from one below the paper's."""
SEEDS = 3

NETWORK = NetworkSettings(
    encoder="identity",
    embed_size=100,
    hidden_size=100,
    attention="dot",
    embedding_start="uniform",
    attention_start="normal",
    head_bias=False,
)
DROPOUT = {"embedding_dropout": 0.5, "context_dropout": 0.5}
ADAGRAD = TrainingSettings(
    **NEVER_EARLY,
    epochs=40,
    batch_size=100,
    optimizer="adagrad",
    learning_rate=0.02,
    learning_rate_decay=0.001,
    weight_decay=0.0,
    loss_sum="mean",
    class_weights=False,
    metric="accuracy",
)
ALIGNMENT = {"method": "alignment", "options": {"strength": 1e-4}}
RECORDED_EPOCHS = (0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500)
"""Epochs after which token scores of the planted sets are recorded."""


def runs(scale: str) -> list[StudyRun]:
    """Every model by its scaling factor, V.W kept small at a large one, and the planted sets."""
    audit = AuditSettings(tests=("token_scores",), examples=None if scale == "paper" else 1_000, shown=0)
    study_runs = [
        _study_run(source, model, _run(source, scale, model, seed), audit)
        for seed in range(SEEDS)
        for source, model in _models(scale)
        if seed == 0 or scale == "paper" or model in CLAIMED
    ]
    return [*study_runs, *_planted(scale)]


def _study_run(source: str, model: ScaledModel, run: Run, audit: AuditSettings | None = None) -> StudyRun:
    return StudyRun(source, model.label, model.encoder, model.method, RunWithBase(run), role=model.role, audit=audit)


def _models(scale: str) -> Iterator[tuple[str, ScaledModel]]:
    """Each set and model."""
    for source in SETS:
        if source == "imdb" and scale == "small":
            continue
        yield source, DP_KEPT_SMALL
        for encoder, factors in FACTORS[scale].items():
            if encoder != DP_L or source in WITH_LSTM[scale]:
                yield from ((source, ScaledModel(encoder, scaling)) for scaling in factors)


def _run(source: str, scale: str, model: ScaledModel, seed: int) -> Run:
    full = scale == "paper"
    data = DataSettings(
        source="imdb_small" if source == "imdb" and not full else source,
        train_limit={"small": 2_000, "medium": 4_000, "paper": None}[scale],
        test_limit=None if full else 1_000,
    )
    return Run(
        data=data,
        text=TextSettings(words="alphanumeric", max_tokens=None if full else 100),
        network=update_settings(_network(model), DROPOUT),
        training=_training(scale, model),
        seed=seed,
    )


def _network(model: ScaledModel) -> NetworkSettings:
    scaling = model.scaling
    changes: dict[str, dict[str, object]] = {
        DP: {"scale": scaling},
        DP_A: {"scale": scaling, "encoder": "affine"},
        DP_L: {"scale": scaling, "encoder": "bilstm", "hidden_size": 50},
        # Lambda divides its scores just before softmax, as a temperature does.
        AD: {"attention": "additive", "attention_size": 100, "temperature": scaling},
    }
    return update_settings(NETWORK, changes[model.encoder])


def _training(scale: str, model: ScaledModel) -> TrainingSettings:
    full = scale == "paper"
    epochs = 15 if model.encoder == DP_L and not full else 40
    changes: dict[str, object] = {"epochs": epochs}
    if model in RECORDED:
        changes["record_flow"] = (epochs,)
    elif not full:
        changes["patience"] = 8
    return update_settings(ADAGRAD, changes | (ALIGNMENT if model == DP_KEPT_SMALL else {}))


def _planted(scale: str) -> Iterator[StudyRun]:
    """Trajectories by plain gradient descent without dropout, as in the paper's analysis."""
    models = [("planted", DP), ("planted-noisy", DP)]
    if scale != "small":
        models += [("planted", DP_A), ("planted", AD), *((source, DP) for source in RATIOS if source != "planted")]
    for source, encoder in models:
        model = ScaledModel(encoder, MODERATE, PLANTED)
        for seed in range(_planted_seeds(model, source, scale)):
            yield _study_run(source, model, _planted_run(source, model, seed, scale))


def _planted_seeds(model: ScaledModel, source: str, scale: str) -> int:
    if scale == "paper" or (model == DP_PLANTED and source in CLAIMED_ON):
        return 4
    return 2 if scale == "medium" and source in RATIOS else 1


def _planted_run(source: str, model: ScaledModel, seed: int, scale: str) -> Run:
    full = scale == "paper"
    epochs = 500 if full else 150
    training = TrainingSettings(
        **NEVER_EARLY,
        epochs=epochs,
        batch_size=200,
        optimizer="sgd",
        # Larger by the factor by which an epoch has fewer texts.
        learning_rate=0.015 if full else 0.1,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        metric="accuracy",
        record_flow=tuple(epoch for epoch in RECORDED_EPOCHS if epoch <= epochs),
    )
    return Run(
        data=DataSettings(source=source, train_limit=None if full else 2_000, test_limit=None if full else 200),
        network=update_settings(_network(model), {"head_start": "uniform"}),
        training=training,
        seed=seed,
    )


KINDS = {"class 0": 0, "class 1": 1, "class 2": 2, "neutral": NEUTRAL}


def tables(results: Results) -> list[Table]:
    """Table 2, how attention scores differ between kinds of words, and how many words of each kind there are."""
    return [_accuracy(results), _scores(results), _words(results)]


def _accuracy(results: Results) -> Table:
    rows = []
    for data in SETS:
        for model in (DP, DP_L, DP_A, AD):
            if results.select(data=data, encoder=model):
                entries = tuple(_accuracy_entry(results, data, ScaledModel(model, scaling)) for scaling in LAMBDAS)
                rows.append(((data, model), entries))
    note = "Accuracy on the test texts; the paper's is of a single run on the whole sets."
    titles = tuple(ScaledModel(DP, scaling).method for scaling in LAMBDAS)
    return Table("Table 2", "Accuracy by scaling factor", note, ("data", "model"), titles, tuple(rows), alike=True)


def _accuracy_entry(results: Results, data: str, model: ScaledModel) -> Entry:
    cell = model.measured(results).get(data)
    if cell is None:
        return Entry(None)
    measure = f"accuracy lambda={model.scaling:g}"
    printed = number(NAME, item="Table 2", data=data, model=model.encoder, measure=measure)
    return Entry(score_estimate(cell, "accuracy"), printed)


def _scores(results: Results) -> Table:
    cells = [cell for cell in results.select(role=None) if cell.tokens and cell.role != PLANTED]
    rows = tuple(((cell.data, cell.model), _score_entries(cell)) for cell in cells)
    titles = (
        "label-indicative above neutral, scores",
        "favoured by V.W above the other",
        "label-indicative above neutral, in a text",
    )
    note = (
        "The probability that a word of the first kind has the larger attention score (AUROC; .5: no difference). "
        "Label-indicative words occur mostly in texts of one label. The first two columns are over the words of the "
        "training texts, with DeLong's variance; the last is by weights within each test text."
    )
    return Table("Scores", "Do attention scores distinguish kinds of words?", note, ("data", "model"), titles, rows)


def _score_entries(cell: Cell) -> tuple[Entry, ...]:
    return (
        Entry(estimate(shares(cell, indicative, neutral), within=AUROC)),
        Entry(estimate(split_shares(cell), within=AUROC) if cell.classes == 2 else None),
        entry(cell.columns.get(ABOVE)),
    )


def _words(results: Results) -> Table:
    rows = []
    for data, cell in DP_MODERATE.recorded(results).items():
        counts = dict(last_scores(cell.tokens[0])["class"].value_counts().iter_rows())
        entries = tuple(
            Entry(
                Estimate(float(counts.get(label, 0)), nan, nan, 1) if label < cell.classes else None,
                number(NAME, item="supplement", data=data, measure=f"tokens {kind}"),
            )
            for kind, label in KINDS.items()
        )
        rows.append(((data,), entries))
    titles = ("of label 0", "of label 1", "of label 2", "neutral")
    note = "Ours in the training texts that were used, below the paper's scale a sample; the paper's in all of them."
    return Table("Words", "How many words indicate a label", note, ("data",), titles, tuple(rows))


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns=COLUMNS,
    measures=MEASURES,
    figures=figures,
)
