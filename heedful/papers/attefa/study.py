"""Amini and Kosseim (2022), How (Un)Faithful is Attention?: adversaries that predict alike and attend elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan, log, nan

import torch

from heedful.battery.adversarial_models import GAVE_UP, NO_BETTER
from heedful.jobs.planning import ADVERSARY_SEEDS, RunWithBase
from heedful.measures import Estimate
from heedful.papers.attefa.claims import (
    BILSTM,
    BY_LAMBDA,
    COLUMNS,
    FUTURE,
    FUTURE_BY_LAMBDA,
    LAMBDA_SETS,
    MEASURES,
    MLP,
    MOCKS,
    NAME,
    NEEDED,
    REAL,
    SETS,
    SPARSE,
    TRANSFORMER,
    base_cells,
    family_of,
    figures,
    paper_cell,
    remarks,
)
from heedful.papers.claim_rule import score_estimate
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number, published
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

FIXED = study_file(NAME, "settings.toml")
CHEAPEST_FIRST = ("sst2", "newsgroups_sports", "ag_news", *MOCKS, "imdb")
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}
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
FUTURE_MODELS = [
    *((each["data"], BaseModel(**{name: each[name] for name in each if name != "data"})) for each in FIXED["future"]),
    *(
        (source, BaseModel(encoder, f"temperature {each['temperature']}", {"network.temperature": each["temperature"]}))
        for each in FIXED["temperatures"]
        for source in each["data"]
        for encoder in (MLP, BILSTM)
    ),
]
"""What the paper leaves as future work, and on which set: at medium scale and above."""

TRANSFORMER_SETS = {
    "small": ("sst2",),
    "medium": ("mock-1", "mock-5", "mock-1q", "mock-4q", "sst2"),
    "paper": SETS,
}
"""Where the paper's questions are asked again of a transformer, which it names as future work."""

AUDIT = AuditSettings(tests=("prediction",), examples=None, shown=0)


def runs(scale: str) -> list[StudyRun]:
    """A base model of each kind on each set, and its adversaries: what takes least time comes first."""
    small = scale == "small"
    sets = ("sst2", "mock-1", "mock-5", "mock-1q", "mock-2q", "mock-4q") if small else CHEAPEST_FIRST
    study_runs = [_study_run(source, model, scale) for model in PAPER_MODELS for source in sets]
    study_runs += [
        _study_run(source, model, scale, BY_LAMBDA)
        for source in LAMBDA_SETS
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
    size, few = _size(model, scale), scale == "small" or (scale == "medium" and role == FUTURE)
    return StudyRun(
        data=source,
        model=f"{model.label}, by lambda" if by_lambda else model.label,
        encoder=model.encoder,
        method=model.method,
        role=role,
        run=RunWithBase(_run(source, model, scale)),
        audit=AUDIT,
        adversaries=_adversaries_by_lambda(size) if by_lambda else _same_adversaries(size, few),
    )


def _size(model: BaseModel, scale: str) -> str:
    """The scale at which a model is trained: transformers of scale medium stay as they were, small."""
    return "small" if scale == "medium" and model.encoder == TRANSFORMER else scale


def _same_adversaries(size: str, few: bool) -> tuple[Adversary, ...]:
    """Nine, as in the paper; two of what is small, and at medium of what the paper leaves to others."""
    return tuple(Adversary(seed, FIXED["adversaries"][size]) for seed in ADVERSARY_SEEDS[: 2 if few else None])


def _adversaries_by_lambda(size: str) -> tuple[Adversary, ...]:
    """An adversary of Wiegreffe and Pinter's for each lambda; their TVD is half of ours."""
    theirs, own = FIXED["by_lambda"], FIXED["adversaries"][size]
    training = {**own, **(theirs["training"] if size != "small" else {}), "method": "adversary_kl"}
    return tuple(
        Adversary(ADVERSARY_SEEDS[0], {**training, "options": {"weight": weight, "tvd_weight": 0.5}})
        for weight in theirs["lambdas"]
    )


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
        training=TrainingSettings(**NEVER_EARLY, **FIXED["training"], epochs=epochs),
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


PRINTED_AS = ("epochs", "adversary_f1", "tvd", "jsd", "attefa")
TITLES = ("epoch", "F1", "TVD", "JSD", "AtteFa")
"""The columns of Tables 3 to 5, as `published.csv` and as the paper call them."""

NO_DATA = ("diabetes", "anemia")
PRINTED = (*MOCKS, *NO_DATA, *REAL)
"""The paper's sets, in the order of its tables; two are access-controlled, so that they have its numbers alone."""


def tables(results: Results) -> list[Table]:
    """The paper's tables and statements; then the family, its future work, and a transformer."""
    places = [(data, encoder) for data in PRINTED for encoder in (BILSTM, MLP)]
    cells = {(data, encoder): paper_cell(results, data, encoder) for data, encoder in places}
    future = results.select(*NEEDED, role=FUTURE)
    return [
        _sizes(cells),
        _bases(cells),
        _adversaries(cells),
        _statements(cells),
        _seeds("Table 4", "mock sets", {place: cell for place, cell in cells.items() if place[0] in MOCKS}),
        _seeds("Table 5", "real-life sets", {place: cell for place, cell in cells.items() if place[0] not in MOCKS}),
        _members(base_cells(results)),
        _future([cell for cell in future if cell.encoder != TRANSFORMER], cells),
        _transformer(results),
    ]


Cells = Mapping[tuple[str, str], Cell | None]
"""Ours, by data and encoder; None where we have none."""


def _sizes(cells: Cells) -> Table:
    parts = [
        (split, size) for split in ("train", "test") for size in ("size class 0", "size class 1", "average_length")
    ]
    rows = []
    for data in PRINTED:
        cell = cells[data, MLP] or cells[data, BILSTM]
        ours = _test_sizes(cell) if cell else {}
        printed = [number(NAME, item="Table 1", data=data, measure=f"{split}_{size}") for split, size in parts]
        own = [_single(ours.get(size, nan) if split == "test" else nan) for split, size in parts]
        rows.append(((data,), tuple(map(Entry, own, printed))))
    columns = tuple(f"{split}: {what}" for split in ("train", "test") for what in ("negative", "positive", "words"))
    note = (
        "Texts of each class, and words per text. Ours are the test texts on which adversaries were measured, after "
        "texts were sampled and cut; the paper's counts are of the whole sets. How many texts we trained on stands "
        "under What was run."
    )
    return Table("Table 1", "The datasets", note, ("data",), columns, tuple(rows))


def _test_sizes(cell: Cell) -> dict[str, float]:
    """Of the texts on which adversaries were measured."""
    if "prediction.items" not in cell.columns:
        return {}
    labels = cell.columns["prediction.label"][0]
    sizes = {f"size class {label}": float((labels == label).sum()) for label in (0, 1)}
    return {**sizes, "average_length": cell.columns["prediction.items"][0].mean().item()}


def _bases(cells: Cells) -> Table:
    rows = []
    for (data, model), cell in cells.items():
        place = {"data": data, "model": model, "measure": "f1"}
        reported = number("wiegreffe_pinter", item="Table 2 of Amini and Kosseim", **place)
        ours = score_estimate(cell, "f1") if cell else None
        rows.append(((data, model), (Entry(ours, number(NAME, item="Table 2", **place)), Entry(None, reported))))
    note = "F1 of the positive class. The second column has what Wiegreffe and Pinter reported, as the paper prints it."
    return Table("Table 2", "The base models", note, ("data", "model"), ("F1", "reported"), tuple(rows))


def _adversaries(cells: Cells) -> Table:
    rows = []
    for (data, model), cell in cells.items():
        ours, entries = _by_adversary(cell) if cell else {}, []
        for measure in PRINTED_AS:
            mean, spread = map(_single, _mean_and_spread(ours[measure]) if ours else (nan, nan))
            place = {"item": "Table 3", "data": data, "model": model, "measure": measure}
            printed = published(NAME).filter(**place)["spread"].item()
            entries += [Entry(mean, number(NAME, **place)), Entry(spread, printed)]
        rows.append(((data, model, _outcomes(cell) if cell else ""), tuple(entries)))
    note = (
        "Mean and standard deviation over the adversaries. TVD over one output unit, as printed. The column "
        "*adversaries* says of how many of ours AtteFa means little: those that gave up predict nearly the same for "
        "every text; those that are no better than a constant answer have a loss that is at least as high."
    )
    columns = tuple(name for title in TITLES for name in (title, f"{title}, s.d."))
    return Table("Table 3", "The adversaries", note, ("data", "model", "adversaries"), columns, tuple(rows))


def _by_adversary(cell: Cell) -> dict[str, list[float]]:
    """The measures of Table 3, a value per adversary."""
    members, adversaries = family_of(cell).seeds, cell.comparison_models.adversaries
    return {
        "epochs": [float(file.chosen_epoch) for file in adversaries],
        "adversary_f1": [nan if (score := file.scores["test"].get("f1")) is None else score for file in adversaries],
        "tvd": [member.unit_tvd for member in members],
        "jsd": [member.js for member in members],
        "attefa": [member.attefa for member in members],
    }


def _outcomes(cell: Cell) -> str:
    """How many adversaries gave up, and how many others are no better than a constant answer."""
    outcomes = family_of(cell).outcomes
    counts = ((outcomes.count(outcome), outcome) for outcome in (GAVE_UP, NO_BETTER))
    return ", ".join(f"{count} of {len(outcomes)} {outcome}" for count, outcome in counts if count)


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the standard deviation (of the population, as the paper prints)."""
    tensor = torch.tensor(values, dtype=torch.float64)
    return tensor.mean().item(), tensor.std(correction=0).item()


def _spread(values: Sequence[float]) -> Estimate:
    """The mean, plus or minus one standard deviation."""
    mean, spread = _mean_and_spread(values)
    return Estimate(mean, mean - spread, mean + spread, len(values))


Value = Callable[[str, str, str], float]
"""A number of Table 3, by data, encoder and measure: ours or the paper's; NaN where there is none."""


def _lower(value: Value, lower: Sequence[str], higher: Sequence[str]) -> float:
    """Of all pairs of sets, the share in which AtteFa of the MLP is lower on the first."""
    pairs = [(value(low, MLP, "attefa"), value(high, MLP, "attefa")) for low in lower for high in higher]
    return nan if any(map(isnan, chain(*pairs))) else sum(low < high for low, high in pairs) / len(pairs)


STATEMENTS: tuple[tuple[str, str, Callable[[Value], float]], ...] = (
    ("6.2", "AtteFa of the MLP on Mock-1", lambda value: value("mock-1", MLP, "attefa")),
    ("6.2", "its gap to the largest AtteFa, 1", lambda value: 1 - value("mock-1", MLP, "attefa")),
    ("6.2", "AtteFa of the MLP on Mock-3q", lambda value: value("mock-3q", MLP, "attefa")),
    ("6.2", "AtteFa of the MLP on Mock-4q", lambda value: value("mock-4q", MLP, "attefa")),
    ("6.2", "AtteFa of the LSTM on Mock-1", lambda value: value("mock-1", BILSTM, "attefa")),
    ("6.3", "share of pairs: MLP lower on a real set than on Mock-1 to 10", lambda value: _lower(value, REAL, SPARSE)),
    ("6.3", "the same: lower on SST than on 20 News", lambda value: _lower(value, REAL[:1], REAL[3:])),
    ("6.3", "the same: lower on AG News than on 20 News", lambda value: _lower(value, REAL[2:3], REAL[3:])),
    ("6.4", "JSD of the LSTM on IMDB as a share of ln 2", lambda value: value("imdb", BILSTM, "jsd") / log(2)),
    ("6.4", "JSD of the LSTM on SST as a share of ln 2", lambda value: value("sst2", BILSTM, "jsd") / log(2)),
)
"""Section, what the number is, and how it follows from Table 3."""


def _statements(cells: Cells) -> Table:
    """Sentences of the paper with a number: ours by our cells, the paper's by its own Table 3."""

    def ours(data: str, model: str, measure: str) -> float:
        cell = cells[data, model]
        return _mean_and_spread(_by_adversary(cell)[measure])[0] if cell else nan

    def paper(data: str, model: str, measure: str) -> float:
        printed = number(NAME, item="Table 3", data=data, model=model, measure=measure)
        return nan if printed is None else printed

    rows = tuple(
        ((f"section {place}", what), (Entry(_single(statement(ours)), statement(paper)),))
        for place, what, statement in STATEMENTS
    )
    note = (
        "Numbers that the text names or rests on, from our cells and from the paper's Table 3 (means of adversaries)."
    )
    return Table("Sized statements", "Sentences with a number", note, ("place", "statement"), ("number",), rows)


def _seeds(name: str, sets: str, cells: Cells) -> Table:
    rows = []
    for (data, model), cell in cells.items():
        ours, outcomes = (_by_adversary(cell), family_of(cell).outcomes) if cell else ({}, ())
        seeds = [file.run.seed for file in cell.comparison_models.adversaries] if cell else []
        for seed in ADVERSARY_SEEDS:
            place = seeds.index(seed) if seed in seeds else None
            entries = tuple(
                Entry(
                    None if place is None else _single(ours[measure][place]),
                    number(NAME, item=name, data=data, model=model, measure=f"{measure} seed={seed}"),
                )
                for measure in PRINTED_AS
            )
            rows.append(((data, model, str(seed), "" if place is None else outcomes[place]), entries))
    note = (
        "Each adversary, and what became of ours. The paper's columns that could be read without doubt; a seed starts "
        "elsewhere in other code, so the nine of a cell compare, not the rows."
    )
    return Table(name, f"Seed by seed, {sets}", note, ("data", "model", "seed", "ours"), TITLES, tuple(rows))


def _members(cells: list[Cell]) -> Table:
    rows = tuple(
        ((cell.data, cell.model), tuple(Entry(_single(value)) for value in _family_values(cell))) for cell in cells
    )
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


def _future(future: Sequence[Cell], cells: Cells) -> Table:
    """What the paper leaves to others, each next to its own model on the same set."""
    rows = []
    for cell in future:
        base, values = cells[cell.data, MLP if cell.encoder == MLP else BILSTM], _by_adversary(cell)
        attefa, tvd, jsd = (Entry(_spread(values[measure])) for measure in ("attefa", "tvd", "jsd"))
        score = Entry(score_estimate(cell, "f1" if cell.classes == 2 else "accuracy"))
        same = Entry(_spread(_by_adversary(base)["attefa"]) if base else None)
        rows.append(((cell.data, cell.model, _outcomes(cell)), (score, attefa, same, tvd, jsd)))
    note = (
        "Other encoders, temperatures, places and agreement of the informative words, dot attention, four classes; "
        "mean plus or minus one standard deviation over the adversaries. The third column of numbers is the paper's "
        "own model on the same set (the MLP for an MLP, else the BiLSTM)."
    )
    columns = ("F1 or accuracy", "AtteFa", "AtteFa of the paper's model", "TVD", "JSD")
    return Table(
        "Future work", "What the paper leaves open", note, ("data", "model", "adversaries"), columns, tuple(rows)
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
        "with a lambda? These rows stay as they were first made: 2 adversaries, small sizes, our own words and random "
        "vectors, at scale medium, too, so that they differ from the other encoders in more than the encoder."
    )
    return Table("Transformer", "The paper's questions to a transformer", note, ("data",), columns, tuple(rows))


def _single(value: float) -> Estimate | None:
    """A number without an interval; None where there is none."""
    return None if isnan(value) else Estimate(value, nan, nan, 1)


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns=COLUMNS,
    measures=MEASURES,
    figures=figures,
    remarks=remarks,
)
