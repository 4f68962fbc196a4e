"""Sun and Lu (2020), Understanding Attention for Text Classification: which words training makes attention look at."""

from collections.abc import Iterator

from heedful.jobs.planning import RunWithBase
from heedful.papers.reproduction import NEVER_EARLY, Study, StudyRun, study_file
from heedful.papers.sun_lu import claims as paper
from heedful.papers.sun_lu.claims import AD, AD_MODERATE, DP, DP_A, DP_KEPT_SMALL, DP_L, MODERATE, ScaledModel
from heedful.papers.sun_lu.figures import figures
from heedful.papers.sun_lu.tables import tables
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.token_scores.scores import THREE_LABELS

FEW = (paper.TINY, MODERATE, paper.HUGE)
FACTORS = {
    "small": {DP: (*FEW, 1.0, paper.LARGE), DP_A: FEW, AD: FEW, DP_L: FEW[:2]},
    "medium": {DP: paper.LAMBDAS, DP_A: paper.LAMBDAS, AD: paper.LAMBDAS, DP_L: FEW},
    "paper": dict.fromkeys((DP, DP_A, AD, DP_L), paper.LAMBDAS),
}
MOST_WORDS = {"small": 100, "medium": 300, "paper": None}
RECORDED = (
    *(ScaledModel(DP, scaling) for scaling in (paper.TINY, 1.0, MODERATE, paper.LARGE)),
    *(ScaledModel(DP_A, scaling) for scaling in (1.0, MODERATE, 20.0, 50.0)),
    *(ScaledModel(DP_L, MODERATE), AD_MODERATE, DP_KEPT_SMALL),
)
"""Models whose token scores are recorded at the chosen epoch: those of the paper's figures."""
CLAIMED = (
    *(ScaledModel(DP, scaling) for scaling in (paper.TINY, 1.0, MODERATE, paper.LARGE, paper.HUGE)),
    *(ScaledModel(encoder, scaling) for encoder in (DP_A, DP_L) for scaling in (paper.TINY, MODERATE)),
    *(AD_MODERATE, DP_KEPT_SMALL),
)
"""Models that claims are about: below the paper's scale they have more seeds than the others, and all epochs."""

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
DECAYED = {AD: "attention", DP_A: "encoder", DP_L: "encoder"}
"""The layers that the paper says are decayed."""
L2, L2_GRID = 1e-3, (0.0, 1e-4, 1e-2)
"""How much they are decayed, which the paper does not say; and other amounts, tried on SST at the moderate factor."""
ALIGNMENT = {"method": "alignment", "options": {"strength": 1e-4}}
AFFINE_ALIGNMENT = {"method": "alignment", "options": {"strength": 1e-4, "of_embeddings": True}}
RECORDED_EPOCHS = (0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500)
"""Epochs after which token scores of the planted sets are recorded."""


def runs(scale: str) -> list[StudyRun]:
    """Every model by its scaling factor, V.W kept small at a large one, amounts of L2, and the planted sets."""
    study_runs = [
        _study_run(source, model, _run(source, scale, model, seed), _audit(source, model, scale))
        for seed in range(5)
        for source, model in _models(scale)
        if seed < _seeds(source, scale, model)
    ]
    return [*study_runs, *_planted(scale)]


def _study_run(source: str, model: ScaledModel, run: Run, audit: AuditSettings | None = None) -> StudyRun:
    return StudyRun(source, model.label, model.encoder, model.method, RunWithBase(run), role=model.role, audit=audit)


def _audit(source: str, model: ScaledModel, scale: str) -> AuditSettings:
    """Kinds of words as they are recorded; the weights of the words of all texts are kept where Figure 5 draws them."""
    is_drawn = source == "sst2" and model == paper.DP_MODERATE
    return AuditSettings(
        tests=("token_scores",),
        examples=1_000 if scale == "small" else None,
        shown=100_000 if is_drawn else 0,
        options={"token_scores": THREE_LABELS} if source == "newsgroups_topics3" else {},
    )


def _models(scale: str) -> Iterator[tuple[str, ScaledModel]]:
    """Each set and model."""
    for source in paper.SETS:
        if source == "imdb" and scale == "small":
            continue
        yield source, DP_KEPT_SMALL
        for encoder, factors in FACTORS[scale].items():
            if encoder != DP_L or source == "sst2" or scale != "small":
                yield from ((source, ScaledModel(encoder, scaling)) for scaling in factors)
    if scale != "small":
        amounts = ((encoder, amount) for encoder in DECAYED for amount in L2_GRID)
        yield from (("sst2", ScaledModel(encoder, MODERATE, f"L2 {amount:g}")) for encoder, amount in amounts)


def _seeds(source: str, scale: str, model: ScaledModel) -> int:
    """Five where a model trains within a minute."""
    if model not in CLAIMED:
        return 3 if scale == "paper" and not model.role else 1
    return 3 if scale == "small" or source == "imdb" or model.encoder == DP_L else 5


def _run(source: str, scale: str, model: ScaledModel, seed: int) -> Run:
    data = DataSettings(source="imdb_small" if source == "imdb" and scale != "paper" else source)
    limits = {"train_limit": 2_000, "test_limit": 1_000} if scale == "small" else {}
    return Run(
        data=update_settings(data, limits),
        text=TextSettings(words="alphanumeric", max_tokens=MOST_WORDS[scale]),
        network=update_settings(_network(model), DROPOUT),
        training=_training(scale, model),
        seed=seed,
    )


def _network(model: ScaledModel) -> NetworkSettings:
    scaling = model.scaling
    changes: dict[str, dict[str, object]] = {
        DP: {"scale": scaling},
        DP_A: {"scale": scaling, "encoder": "affine"},
        DP_L: {"scale": scaling, "encoder": "bilstm", "hidden_size": 50, "encoder_start": "orthogonal"},
        # Lambda divides its scores just before softmax, as a temperature does.
        AD: {"attention": "additive", "attention_size": 100, "temperature": scaling},
    }
    return update_settings(NETWORK, changes[model.encoder])


def _training(scale: str, model: ScaledModel) -> TrainingSettings:
    changes: dict[str, object] = ALIGNMENT if model == DP_KEPT_SMALL else {}
    if model.encoder in DECAYED:
        amount = float(model.role.removeprefix("L2 ") or L2)
        changes = changes | {"weight_decay": {DECAYED[model.encoder]: amount}}
    if model in RECORDED or model.role:
        changes = changes | {"record_flow": ("chosen",)}
    if scale != "paper" and (model not in CLAIMED and not model.role or model.encoder == DP_L):
        changes = changes | {"patience": 8}
    return update_settings(ADAGRAD, changes)


def _planted(scale: str) -> Iterator[StudyRun]:
    """Trajectories by plain gradient descent, as in the supplement."""
    for source, model in paper.PLANTED_MODELS:
        if scale != "small" or (source in paper.CLAIMED_ON and model == paper.DP_PLANTED):
            for seed in range(4 if model == paper.DP_PLANTED else 1):
                yield _study_run(source, model, _planted_run(source, model, seed, scale))


def _planted_run(source: str, model: ScaledModel, seed: int, scale: str) -> Run:
    whole = scale == "paper"
    texts = 12_000 if whole else 1_000 * (3 if source == "planted-three" else 2)
    # The rate is larger by the factor by which an epoch has fewer texts: 450 units of time in all.
    descent = {"optimizer": "sgd", "learning_rate": 0.015 * 12_000 / texts, "learning_rate_decay": 0.0}
    method = ALIGNMENT if model == paper.DP_PLANTED_KEPT_SMALL else AFFINE_ALIGNMENT if model.encoder == DP_A else {}
    lasts = {"epochs": 500, "batch_size": 200, "record_flow": RECORDED_EPOCHS}
    dropout = {} if model == paper.DP_PLANTED_PLAIN else DROPOUT
    return Run(
        data=DataSettings(source=source, train_limit=None if whole else texts, test_limit=None if whole else 200),
        network=update_settings(_network(model), {"head_start": "uniform", **dropout}),
        training=update_settings(ADAGRAD, {**descent, **lasts, **method}),
        seed=seed,
    )


STUDY = Study(
    **study_file(paper.NAME, "study.toml"),
    folder=paper.NAME,
    runs=runs,
    tables=tables,
    columns=paper.COLUMNS,
    measures=paper.MEASURES,
    figures=figures,
)
