"""Amini and Kosseim (2022), How (Un)Faithful is Attention?: adversaries that predict alike and attend elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log, nan
from typing import Any

import torch

from heedful.jobs.planning import ADVERSARY_SEEDS, RunWithBase
from heedful.measures import Estimate
from heedful.papers.attefa.claims import (
    BILSTM,
    BY_LAMBDA,
    FUTURE,
    FUTURE_BY_LAMBDA,
    MLP,
    MOCKS,
    NAME,
    NEEDED,
    SETS,
    TRANSFORMER,
    base_cells,
    claims,
    family_of,
    figures,
    paper_cell,
    remarks,
)
from heedful.papers.claim_rule import score_estimate
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number
from heedful.papers.reproduction import (
    NEVER_EARLY,
    NORMAL_START,
    Adversary,
    Cell,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    study_file,
)
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings

CHEAPEST_FIRST = ("sst2", "newsgroups_sports", "ag_news", *MOCKS, "imdb")
WITH_LAMBDAS = ("sst2", "imdb")
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}
LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)
"""How much the divergence counts in Wiegreffe and Pinter's loss, whose TVD is half of ours."""

ENCODERS = {MLP: "average"}
"""What the encoder of a model is called in settings, where it is not the same."""


@dataclass(frozen=True)
class BaseModel:
    """A base model: its encoder, and in what else (`method`) it differs from the paper's.

    Args:
        changes: settings of the run, by dotted name.
    """

    encoder: str
    method: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What tables call it."""
        return f"{self.encoder}, {self.method}" if self.method else self.encoder


PAPER_MODELS = (BaseModel(MLP), BaseModel(BILSTM))
FOUR_CLASSES = {"data.classes": 4, "training.metric": "accuracy"}
FUTURE_MODELS = (
    *(
        ("mock-5", model)
        for model in (
            BaseModel("cnn"),
            BaseModel("gru"),
            BaseModel("identity"),
            BaseModel(BILSTM, "words at the start", {"data.positions": "start"}),
            BaseModel(BILSTM, "words in the middle", {"data.positions": "middle"}),
            BaseModel(BILSTM, "words at the end", {"data.positions": "end"}),
            BaseModel(BILSTM, "words that agree by .7", {"data.agreement": 0.7}),
            BaseModel(BILSTM, "4 classes", FOUR_CLASSES),
            BaseModel(MLP, "4 classes", FOUR_CLASSES),
            BaseModel(BILSTM, "dot attention", {"network.attention": "dot"}),
            BaseModel(MLP, "dot attention", {"network.attention": "dot"}),
        )
    ),
    *(
        (source, BaseModel(encoder, f"temperature {temperature}", {"network.temperature": temperature}))
        for source, temperature in (("mock-1", 0.3), ("mock-2", 0.3), ("mock-3q", 3.0), ("mock-4q", 3.0))
        for encoder in (MLP, BILSTM)
    ),
)
"""What the paper leaves as future work, and on which set: at medium scale and above."""

TRANSFORMER_SETS = {
    "small": ("sst2",),
    "medium": ("mock-1", "mock-5", "mock-1q", "mock-4q", "sst2"),
    "paper": SETS,
}
"""Where the paper's questions are asked again of a transformer, which it names as future work."""

TRAINING: dict[str, Any] = {
    "optimizer": "amsgrad",
    "learning_rate": 1e-3,
    "weight_decay": 1e-5,
    "batch_size": 32,
    "loss_sum": "sum",
    "class_weights": True,
    "metric": "roc_auc",
}
"""Of base models: the paper's, and where it says nothing that of the code on which it builds."""
AUDIT = AuditSettings(tests=("prediction",), examples=None, shown=0)


def runs(scale: str) -> list[StudyRun]:
    """A base model of each kind on each set, and its adversaries: what takes least time comes first."""
    small = scale == "small"
    sets = ("sst2", "mock-1", "mock-5", "mock-1q", "mock-2q", "mock-4q") if small else CHEAPEST_FIRST
    study_runs = [_study_run(source, model, scale) for model in PAPER_MODELS for source in sets]
    study_runs += [
        _study_run(source, model, scale, BY_LAMBDA)
        for source in WITH_LAMBDAS
        if source in sets
        for model in PAPER_MODELS
    ]
    study_runs += [] if small else [_study_run(source, model, scale, FUTURE) for source, model in FUTURE_MODELS]
    return [
        *study_runs,
        *(_study_run(source, BaseModel(TRANSFORMER), scale, FUTURE) for source in TRANSFORMER_SETS[scale]),
        _study_run("sst2", BaseModel(TRANSFORMER), scale, FUTURE_BY_LAMBDA),
    ]


def _study_run(source: str, model: BaseModel, scale: str, role: str = "") -> StudyRun:
    by_lambda = role in (BY_LAMBDA, FUTURE_BY_LAMBDA)
    training = _adversary_training(_size(model, scale))
    return StudyRun(
        data=source,
        model=f"{model.label}, by lambda" if by_lambda else model.label,
        encoder=model.encoder,
        method=model.method,
        role=role,
        run=RunWithBase(_run(source, model, scale)),
        audit=AUDIT,
        adversaries=_adversaries_by_lambda(training) if by_lambda else _same_adversaries(training, scale, role),
    )


def _size(model: BaseModel, scale: str) -> str:
    """The scale at which a model is trained: transformers of scale medium stay as they were, small."""
    return "small" if scale == "medium" and model.encoder == TRANSFORMER else scale


def _same_adversaries(training: Mapping[str, object], scale: str, role: str) -> tuple[Adversary, ...]:
    """Nine, as in the paper; two at scale small, and at medium of what the paper leaves to others."""
    few = scale == "small" or (scale == "medium" and role == FUTURE)
    return tuple(Adversary(seed, training) for seed in ADVERSARY_SEEDS[: 2 if few else None])


def _adversaries_by_lambda(training: Mapping[str, object]) -> tuple[Adversary, ...]:
    """An adversary of Wiegreffe and Pinter's for each lambda."""
    by_lambda = {**training, "method": "adversary_kl"}
    return tuple(
        Adversary(ADVERSARY_SEEDS[0], {**by_lambda, "options": {"weight": weight, "tvd_weight": 0.5}})
        for weight in LAMBDAS
    )


def _adversary_training(size: str) -> dict[str, object]:
    """How adversaries are trained: as in the paper; or for fewer epochs, chosen on dev."""
    if size == "paper":
        return {"selection": "paper", "min_epochs": 1}
    if size == "medium":
        return {"epochs": 24, "min_epochs": 12, "patience": 4}
    return {"epochs": 16, "min_epochs": 14, "patience": 3, "batch_size": 16}


def _run(source: str, model: BaseModel, scale: str) -> Run:
    """The base model: the paper's sizes at its scale; at medium its data and rate; below, what is quickly learnt."""
    size, encoder = _size(model, scale), ENCODERS.get(model.encoder, model.encoder)
    token_wise = encoder in ("average", "cnn")
    data, text, network = _mock(source, size) if source in MOCKS else _real(source, scale)
    units = {"small": 64 if token_wise else 32, "medium": 128 if token_wise else 32, "paper": 128}[size]
    # A model that reads each word alone needs the paper's eight epochs to be confident in its predictions.
    epochs = 3 if size == "small" and encoder != "average" else 8
    run = Run(
        data=data,
        text=text,
        network=update_settings(network, {"encoder": encoder, "hidden_size": units, "activation": "tanh"}),
        training=TrainingSettings(**NEVER_EARLY, **TRAINING, epochs=epochs),
        # No adversary has this seed, so that none starts at the weights of its base; the small transformers stay.
        seed=10 if model.encoder == TRANSFORMER else 0,
    )
    changes: dict[str, object] = {
        "small": {"data.train_limit": 2_000, "data.test_limit": 500, "training.learning_rate": 5e-3},
        "medium": {"data.train_limit": None, "data.test_limit": 1_000},
        "paper": {"training.selection": "paper"},
    }[size]
    return update_settings(run, {**changes, **model.changes})


def _mock(source: str, size: str) -> tuple[DataSettings, TextSettings, NetworkSettings]:
    if size == "small":
        return DataSettings(source=source), TextSettings(), NetworkSettings(embed_size=64, **NORMAL_START)
    return DataSettings(source=source, lexicon="hu_liu"), TextSettings(), VECTORS


def _real(source: str, scale: str) -> tuple[DataSettings, TextSettings, NetworkSettings]:
    text = update_settings(text_of(source, scale), {"max_tokens": MOST_WORDS[scale]})
    return data_of(source, scale), text, VECTORS


def tables(results: Results) -> list[Table]:
    """Tables 2 and 3, the values of each seed (Tables 4, 5); and, not in the paper, the family and a transformer."""
    cells = base_cells(results)
    return [_bases(cells), _adversaries(cells), _seeds(cells), _members(cells), _transformer(results)]


def _bases(cells: list[Cell]) -> Table:
    rows = []
    for cell in cells:
        metric = "f1" if cell.classes == 2 else "accuracy"
        printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure="f1")
        rows.append(((cell.data, cell.model), (Entry(score_estimate(cell, metric), printed),)))
    note = "F1 of the positive class (accuracy where there are more than two)."
    return Table("Table 2", "The base models", note, ("data", "model"), ("F1",), tuple(rows))


def _adversaries(cells: list[Cell]) -> Table:
    rows = []
    for cell in cells:
        entries = tuple(
            Entry(
                _spread(values) if values else None,
                number(NAME, item="Table 3", data=cell.data, model=cell.model, measure=measure),
            )
            for measure, values in _by_adversary(cell).items()
        )
        rows.append(((cell.data, cell.model), entries))
    note = "Mean over the adversaries, plus or minus one standard deviation. TVD over one output unit, as printed."
    columns = ("epoch", "F1", "TVD", "JSD", "AtteFa")
    return Table("Table 3", "The adversaries", note, ("data", "model"), columns, tuple(rows))


def _by_adversary(cell: Cell) -> dict[str, list[float]]:
    """The measures of Table 3, a value per adversary."""
    members, adversaries = family_of(cell).seeds, cell.comparison_models.adversaries
    scores = [file.scores["test"].get("f1") for file in adversaries]
    return {
        "epochs": [float(file.chosen_epoch) for file in adversaries],
        "adversary_f1": [score for score in scores if score is not None],
        "tvd": [member.unit_tvd for member in members],
        "jsd": [member.js for member in members],
        "attefa": [member.attefa for member in members],
    }


def _spread(values: list[float]) -> Estimate:
    """The mean, plus or minus one standard deviation (of the population, as the paper prints)."""
    tensor = torch.tensor(values, dtype=torch.float64)
    mean, deviation = tensor.mean().item(), tensor.std(correction=0).item()
    return Estimate(mean, mean - deviation, mean + deviation, len(values))


def _seeds(cells: list[Cell]) -> Table:
    most = max((len(family_of(cell).seeds) for cell in cells), default=0)
    rows = []
    for cell in cells:
        members = family_of(cell).seeds
        pairs = zip(cell.comparison_models.adversaries, members, strict=True)
        gave_up = ", ".join(str(file.run.seed) for file, member in pairs if member.gave_up)
        entries = [_single(member.attefa) for member in members]
        padding = [Entry(None)] * (most - len(entries))
        rows.append(((cell.data, cell.model, gave_up or "none"), (*entries, *padding)))
    columns = tuple(f"seed {seed}" for seed in ADVERSARY_SEEDS[:most])
    note = "AtteFa of each adversary, and the seeds of those that gave up: that predict nearly the same for every text."
    return Table("Tables 4 and 5", "Seed by seed", note, ("data", "model", "gave up"), columns, tuple(rows))


def _members(cells: list[Cell]) -> Table:
    rows = tuple(((cell.data, cell.model), tuple(map(_single, _family_values(cell)))) for cell in cells)
    columns = (
        "mean of seeds",
        "best seed by loss",
        "the same relative to the cap",
        "constant",
        "rescaling",
        "frozen, exact",
        "cap / ln 2",
    )
    note = "AtteFa of every member of the family; docs/attefa-family.md says what each means."
    return Table("Family", "What else an adversary could do", note, ("data", "model"), columns, rows)


def _family_values(cell: Cell) -> tuple[float, ...]:
    family = family_of(cell)
    best = family.seeds[family.best]
    return (
        family.mean,
        best.attefa,
        best.attefa_of_cap,
        family.constant.attefa,
        family.rescaled.attefa,
        family.frozen.attefa if family.frozen else nan,
        family.cap / log(2),
    )


def _transformer(results: Results) -> Table:
    """The paper's questions to a transformer: beside the other encoders, few and many words, seeds, lambdas."""
    rows = []
    for cell in results.select(*NEEDED, encoder=TRANSFORMER, role=FUTURE):
        others = [paper_cell(results, cell.data, encoder) for encoder in (BILSTM, MLP)]
        lambdas = results.find(*NEEDED, data=cell.data, encoder=TRANSFORMER, role=FUTURE_BY_LAMBDA)
        entries = (
            *(
                Entry(_spread([member.attefa for member in family_of(each).seeds]) if each else None)
                for each in (cell, *others)
            ),
            Entry(_spread([member.js for member in family_of(cell).seeds])),
            Entry(_spread([member.js for member in family_of(lambdas).seeds]) if lambdas else None),
        )
        rows.append(((cell.data,), entries))
    columns = (
        "AtteFa, transformer",
        "AtteFa, BiLSTM",
        "AtteFa, MLP",
        "JSD, AtteFa's adversaries",
        "JSD, over lambdas",
    )
    note = (
        "What the paper asks of its encoders, asked of a transformer of two layers trained from scratch: is its "
        "attention less faithful than that of an encoder without context; is AtteFa lower with many informative words "
        "(q) than with few; do seeds agree (means plus or minus one standard deviation); does attention move as far as "
        "with a lambda?"
    )
    return Table("Future work", "A transformer", note, ("data",), columns, tuple(rows))


def _single(value: float) -> Entry:
    """A number without an interval."""
    return Entry(Estimate(value, nan, nan, 1))


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
    remarks=remarks,
)
