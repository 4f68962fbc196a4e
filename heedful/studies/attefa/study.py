"""Amini and Kosseim, How (Un)Faithful is Attention?: adversaries that must predict alike and attend elsewhere."""

from collections.abc import Mapping
from math import log

import torch

from heedful.battery.questions import Values
from heedful.measures import Estimate
from heedful.runs.grid import ADVERSARY_SEEDS, adversary_of
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TrainingSettings
from heedful.studies.attefa.figures import BY_LAMBDA, MODELS, base_cells, family_of, figures, lambda_cells
from heedful.studies.claims import judge, paired, score_estimate
from heedful.studies.jain_wallace.preprocessing import VECTORS, data_of, text_of
from heedful.studies.published import number
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table, Wanted

NAME = "attefa"
MOCKS = ("mock-1", "mock-2", "mock-5", "mock-10", "mock-1q", "mock-2q", "mock-3q", "mock-4q")
REAL = ("sst2", "imdb", "ag_news", "newsgroups_sports")
LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1)
"""How much the divergence counts in Wiegreffe and Pinter's loss, whose TVD is half of ours: on SST and IMDB."""
HALF = 0.25
"""AtteFa of the worst adversary less that of the best, from which on the seeds fall into two heaps."""

FUTURE: dict[str, dict[str, object]] = {
    "cnn": {"encoder": "cnn"},
    "gru": {"encoder": "gru"},
    "identity": {"encoder": "identity"},
    "bilstm, temperature 3": {"encoder": "bilstm", "temperature": 3.0},
    "bilstm, words at the start": {"encoder": "bilstm", "positions": "start"},
    "bilstm, words at the end": {"encoder": "bilstm", "positions": "end"},
    "bilstm, words that agree by .7": {"encoder": "bilstm", "agreement": 0.7},
    "bilstm, 4 classes": {"encoder": "bilstm", "classes": 4},
    "mlp, 4 classes": {"encoder": "average", "classes": 4},
}
"""What the paper leaves as future work: on mock-5, at medium scale and above."""

AUDIT = AuditSettings(tests=("prediction",), shown=0)


def wanted(scale: str) -> list[Wanted]:
    """A base model of each kind on each set, and its adversaries."""
    mocks = ("mock-1", "mock-5", "mock-1q", "mock-2q", "mock-4q") if scale == "small" else MOCKS
    real = ("sst2",) if scale == "small" else REAL
    found = [
        _wanted(source, model, _run(source, encoder, scale), scale)
        for source in (*mocks, *real)
        for model, encoder in MODELS.items()
    ]
    found += [
        _by_lambda(source, model, _run(source, encoder, scale), scale)
        for source in ("sst2", "imdb")
        if source in real
        for model, encoder in MODELS.items()
    ]
    if scale != "small":
        found += [
            _wanted("mock-5", name, _run("mock-5", "bilstm", scale, changes), scale) for name, changes in FUTURE.items()
        ]
    return found


def _wanted(source: str, model: str, run: Run, scale: str) -> Wanted:
    seeds = ADVERSARY_SEEDS if scale == "paper" else ADVERSARY_SEEDS[:2]
    adversaries = tuple(adversary_of(run, seed, _hurried(scale)) for seed in seeds)
    return Wanted(source, model, run, audit=AUDIT, adversaries=adversaries)


def _by_lambda(source: str, model: str, run: Run, scale: str) -> Wanted:
    """The base again, with an adversary of Wiegreffe and Pinter's for each lambda."""
    changes = [
        {**_hurried(scale), "method": "adversary_kl", "options": {"weight": weight, "tvd_weight": 0.5}}
        for weight in LAMBDAS
    ]
    adversaries = tuple(adversary_of(run, ADVERSARY_SEEDS[0], one) for one in changes)
    return Wanted(source, f"{model}{BY_LAMBDA}", run, audit=AUDIT, adversaries=adversaries)


def _hurried(scale: str) -> dict[str, object]:
    """How adversaries are trained: as in the paper, or long enough to leave their plateau."""
    if scale == "paper":
        return {"selection": "paper"}
    return {"epochs": 16, "min_epochs": 14, "patience": 3, "batch_size": 16}


def _run(source: str, encoder: str, scale: str, changes: Mapping[str, object] | None = None) -> Run:
    """The base model: the paper's sizes at its scale; below, ones from which adversaries escape their plateau soon."""
    full, mock = scale == "paper", source.startswith("mock")
    chosen = dict(changes or {"encoder": encoder})
    of_data = {name: chosen.pop(name) for name in ("positions", "agreement", "classes") if name in chosen}
    if mock:
        data = DataSettings(source=source, lexicon="hu_liu" if full else "heedful")
        text, network = Run().text, NetworkSettings(embed_size=300 if full else 64)
    else:
        data, text, network = data_of(source, scale), text_of(source, scale), VECTORS
    limits = {} if full else {"train_limit": 2_000, "test_limit": 500}
    size = {"hidden_size": 128 if full else 32, "activation": "tanh"}
    # A model that reads each word alone needs the paper's eight epochs to be sure of its answers.
    epochs = 8 if full or chosen["encoder"] == "average" else 3
    rate = {"selection": "paper"} if full else {"learning_rate": 5e-3}
    training = TrainingSettings(epochs=epochs).model_copy(update=rate)
    if chosen["encoder"] in ("average", "cnn"):
        size["hidden_size"] = 128 if full else 64
    return Run(
        data=data.model_copy(update=limits | of_data),
        text=text,
        network=network.model_copy(update=size | chosen),
        training=training if of_data.get("classes", 2) == 2 else training.model_copy(update={"metric": "accuracy"}),
        seed=10,
    )


def tables(results: Results) -> list[Table]:
    """Tables 2 and 3, the values of each seed (Tables 4, 5), and the family that the paper does not have."""
    return [_bases(results), _adversaries(results), _seeds(results), _members(results)]


def _bases(results: Results) -> Table:
    rows = []
    for cell in base_cells(results):
        metric = "f1" if len(cell.runs[0].labels) == 2 else "accuracy"
        printed = number(NAME, item="Table 2", data=cell.data, model=cell.model, measure="f1")
        rows.append(((cell.data, cell.model), (Entry(score_estimate(cell, metric), printed),)))
    note = "F1 of the positive class (accuracy where there are more than two)."
    return Table("Table 2", "The base models", note, ("data", "model"), ("F1",), tuple(rows))


def _spread(values: list[float]) -> Estimate:
    """The mean over adversaries with one standard deviation (of the population, as the paper prints) to each side."""
    tensor = torch.tensor(values, dtype=torch.float64)
    mean, deviation = tensor.mean().item(), tensor.std(correction=0).item()
    return Estimate(mean, mean - deviation, mean + deviation, len(values))


def _adversaries(results: Results) -> Table:
    rows = []
    for cell in base_cells(results):
        members = family_of(cell).seeds
        scores = [run.scores["test"].get("f1") for run in cell.beside]
        measured = {
            "epochs": [float(run.chosen_epoch) for run in cell.beside],
            "adversary_f1": [score for score in scores if score is not None],
            "tvd": [one.unit_tvd for one in members],
            "jsd": [one.js for one in members],
            "attefa": [one.attefa for one in members],
        }
        entries = tuple(
            Entry(
                _spread(values) if values else None,
                number(NAME, item="Table 3", data=cell.data, model=cell.model, measure=name),
            )
            for name, values in measured.items()
        )
        rows.append(((cell.data, cell.model), entries))
    note = "Mean over the adversaries, and one standard deviation to each side. TVD over one output unit, as printed."
    columns = ("epoch", "F1", "TVD", "JSD", "AtteFa")
    return Table("Table 3", "The adversaries", note, ("data", "model"), columns, tuple(rows))


def _seeds(results: Results) -> Table:
    most = max((len(family_of(cell).seeds) for cell in base_cells(results)), default=0)
    rows = []
    for cell in base_cells(results):
        members = family_of(cell).seeds
        shown = [Entry(Estimate(one.attefa, float("nan"), float("nan"), 1)) for one in members]
        gave_up = ", ".join(str(run.run.seed) for run, one in zip(cell.beside, members, strict=True) if one.gave_up)
        padded = (*shown, *[Entry(None)] * (most - len(shown)))
        rows.append(((cell.data, cell.model, gave_up or "none"), padded))
    columns = tuple(f"seed {seed}" for seed in ADVERSARY_SEEDS[:most])
    note = "AtteFa of each adversary, and the seeds of those that gave up: that say nearly the same of every text."
    return Table("Tables 4 and 5", "Seed by seed", note, ("data", "model", "gave up"), columns, tuple(rows))


def _members(results: Results) -> Table:
    rows = []
    for cell in base_cells(results):
        found = family_of(cell)
        best = found.seeds[found.best]
        values = [found.mean, best.attefa, best.attefa_of_cap, found.constant.attefa, found.rescaled.attefa]
        values += [found.frozen.attefa if found.frozen else float("nan"), found.cap / log(2)]
        entries = tuple(Entry(Estimate(value, float("nan"), float("nan"), 1)) for value in values)
        rows.append(((cell.data, cell.model), entries))
    columns = (
        "mean of seeds",
        "best seed by loss",
        "the same by the cap",
        "constant",
        "rescaling",
        "frozen, exact",
        "cap / ln 2",
    )
    note = "AtteFa of every member of the family; docs/attefa-family.md says what each means."
    return Table("Family", "What else an adversary could do", note, ("data", "model"), columns, tuple(rows))


def _moved(cell: Cell, *, best: bool = False) -> Values:
    """Text by text, what sums up to AtteFa: of the best adversary by loss, or the mean over all."""
    found = family_of(cell)
    chosen = [found.best] if best else range(len(found.seeds))
    scaled = [cell.columns[f"adversaries.tvd_{n + 1}"] * log(2) / found.seeds[n].js for n in chosen]
    return torch.stack(scaled).mean(0)


def _diverged(cell: Cell) -> Values:
    """Text by text, how far the adversaries moved attention in the mean."""
    numbers = range(1, len(family_of(cell).seeds) + 1)
    return torch.stack([cell.columns[f"adversaries.js_{n}"] for n in numbers]).mean(0)


def _heaps(cell: Cell) -> Values:
    """Text by text, the adversary of the largest AtteFa less that of the smallest."""
    members = family_of(cell).seeds
    order = sorted(range(len(members)), key=lambda n: members[n].attefa)
    first, last = (cell.columns[f"adversaries.tvd_{n + 1}"] * log(2) / members[n].js for n in (order[0], order[-1]))
    return last - first


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, each as a number above a threshold."""
    cells = {(cell.data, cell.model): cell for cell in base_cells(results)}
    both = [data for data in results.datasets if (data, "mlp") in cells and (data, "bilstm") in cells]
    mocks = [data for data in MOCKS if (data, "mlp") in cells]
    steps = list(zip(mocks, mocks[1:], strict=False))
    return [
        judge(
            "Attention of an encoder with context is less faithful than that of one without.",
            "section 6, Table 3",
            "AtteFa (mean over adversaries), MLP less BiLSTM",
            {data: paired(_moved(cells[data, "mlp"]), _moved(cells[data, "bilstm"])) for data in both},
        ),
        judge(
            "So it is by the best adversary, the method's own criterion.",
            "section 3.3 (the paper reports the mean)",
            "AtteFa of the adversary with the least loss, MLP less BiLSTM",
            {
                data: paired(_moved(cells[data, "mlp"], best=True), _moved(cells[data, "bilstm"], best=True))
                for data in both
            },
        ),
        judge(
            "AtteFa falls as informative words become more frequent (MLP).",
            "section 6.2, Table 3",
            "AtteFa (mean over adversaries), each mock set less the next",
            {
                f"{one} less {other}": paired(_moved(cells[one, "mlp"]), _moved(cells[other, "mlp"]))
                for one, other in steps
            },
        ),
        judge(
            "On Mock-1q and Mock-2q the seeds of the MLP's adversaries fall into two heaps.",
            "appendix A, Table 4",
            f"the largest AtteFa of an adversary less the smallest, less {HALF}",
            {data: _heaps(cells[data, "mlp"]) - HALF for data in ("mock-1q", "mock-2q") if (data, "mlp") in cells},
        ),
        judge(
            "Its adversaries move attention as far as those that need a lambda, or farther.",
            "section 6.4, Figure 2",
            "JSD of attention (mean over adversaries), less the mean over four values of Wiegreffe and Pinter's lambda",
            {
                f"{cell.data}, {model}": paired(_diverged(cells[cell.data, model]), _diverged(cell))
                for model, cell in lambda_cells(results)
                if (cell.data, model) in cells
            },
        ),
    ]


STUDY = Study(
    name="attefa",
    title="How (Un)Faithful is Attention?",
    paper="Amini and Kosseim, How (Un)Faithful is Attention?",
    scales={
        "small": "five mock sets and SST; BiLSTM and MLP; 2 adversaries each, and on SST one for each of four lambdas; "
        "2,000 training texts, 500 test texts",
        "medium": "all eight mock sets, SST, IMDB, AG News, 20 News; BiLSTM and MLP; 2 adversaries each, and on SST "
        "and IMDB one for each of four lambdas; on mock-5 CNN, GRU and identity encoders, a temperature, places and "
        "strength of the informative words, four classes; 2,000 training texts, 500 test texts",
        "paper": "the same with 9 adversaries each, whole sets, Hu and Liu's lexicon, the paper's sizes and epochs",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
