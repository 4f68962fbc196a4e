"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from heedful.battery.question import Values
from heedful.jobs.planning import ADVERSARY_SEEDS, RunWithBase
from heedful.papers.claim_rule import Part, cell_has_learnt, entry, judge_claims, paired, score_estimate
from heedful.papers.jain_wallace import study as jain_wallace
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number
from heedful.papers.reproduction import Adversary, Cell, Claim, Entry, Results, Study, StudyRun, Table, study_file
from heedful.papers.study_figures import Heading, by_largest_figure, claims_figure, histogram_figure
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings

NAME = "wiegreffe_pinter"
FIXED = study_file(NAME, "settings.toml")
"""Every setting that a recipe must fix in addition to those of Jain and Wallace."""
CORRECT = "prediction.correct"
LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS = "seeds.max_js", "seeds.mean_js", "seeds.flips"
ADVERSARIAL = "adversarial_attention.js"
OTHER_SEEDS, BY_LAMBDA = "other seeds", "by lambda"
"""The roles of the run whose attention is compared with that of other seeds, and of its adversaries."""
WITHOUT_NEED = ("ag_news", "newsgroups_sports")
"""The sets on which, by the paper, attention is hardly needed."""


@dataclass(frozen=True)
class PaperModel:
    """An encoder with its own, uniform, or another model's attention; `label` is what tables call it."""

    label: str
    encoder: str
    method: str

    def cell(self, results: Results, data: str, *columns: str) -> Cell | None:
        """What was measured of the model on that data set; None where one of these columns was not."""
        return results.find(*columns, data=data, encoder=self.encoder, method=self.method)


BILSTM = PaperModel("bilstm", "bilstm", "own")
BILSTM_UNIFORM = PaperModel("bilstm, uniform", "bilstm", "uniform")
MLP = PaperModel("mlp", "mlp", "own")
MLP_UNIFORM = PaperModel("mlp, uniform", "mlp", "uniform")
MLP_IMPOSED = PaperModel("mlp, attention of the bilstm", "mlp", "imposed")
MLP_GUIDED = PaperModel("mlp, attention of the adversary", "mlp", "guided")
MODELS = (BILSTM, BILSTM_UNIFORM, MLP, MLP_UNIFORM, MLP_IMPOSED, MLP_GUIDED)


def gain(results: Results, data: str, model: PaperModel, other: PaperModel) -> Values | None:
    """Accuracy of the model - accuracy of the other, text by text; None where one of them was not measured."""
    cell, compared = model.cell(results, data, CORRECT), other.cell(results, data, CORRECT)
    return None if cell is None or compared is None else paired(cell.columns[CORRECT], compared.columns[CORRECT])


SETS = ("sst2", "newsgroups_sports", "imdb", "ag_news")
"""The most valuable first: runs are done in this order."""
ENCODERS = {"bilstm": "bilstm", "mlp": "average"}
ATTENTIONS = {"own": "additive", "uniform": "uniform", "imposed": "frozen", "guided": "frozen"}
PREDICTION = AuditSettings(tests=("prediction",), examples=None, shown=0)
SPREAD = AuditSettings(tests=("adversarial_attention",), examples=None, shown=0)
SEEDS = {"small": 2, "medium": 5, "paper": 5}
"""How many seeds each model is trained from."""
OTHERS = {"small": 3, "medium": 8, "paper": 8}
"""With how many other seeds the BiLSTM of seed 0 is compared, the next ones."""
LAMBDAS = (1e-4, 5e-4, 1e-3, 1e-2)
"""How much the divergence counts in the adversary's loss."""
GUIDING = 5e-4
"""The lambda of the adversary whose attention guides the MLP."""
FEWER = {"small": {"epochs": 10, "patience": 3}, "medium": {"epochs": 40, "patience": 5}, "paper": {}}
"""How the training of adversaries is shortened below the paper's scale."""


def runs(scale: str) -> list[StudyRun]:
    """BiLSTM and MLP, each with its own and uniform attention; the MLP with the BiLSTM's and its adversary's; more."""
    sets = ("sst2", "newsgroups_sports", "ag_news") if scale == "small" else SETS
    return [
        *(study_run for source in sets for seed in range(SEEDS[scale]) for study_run in _models(source, scale, seed)),
        *(_by_lambda(source, scale) for source in sets if source not in WITHOUT_NEED),
        *(_compared_with_seeds(source, scale) for source in sets),
    ]


def _compared_with_seeds(source: str, scale: str) -> StudyRun:
    """The BiLSTM whose attention is compared with that of other seeds."""
    return StudyRun(
        data=source,
        model="bilstm, against other seeds",
        encoder=BILSTM.encoder,
        method=BILSTM.method,
        role=OTHER_SEEDS,
        run=RunWithBase(_run(source, scale, BILSTM, 0)),
        audit=SPREAD,
        seeds=tuple(RunWithBase(_run(source, scale, BILSTM, 1 + seed)) for seed in range(OTHERS[scale])),
    )


def _by_lambda(source: str, scale: str) -> StudyRun:
    """The BiLSTM and an adversary for each lambda."""
    adversaries = tuple(
        Adversary(seed, {name.removeprefix("training."): value for name, value in _adversarial(scale, weight).items()})
        for seed, weight in product(ADVERSARY_SEEDS[:1], LAMBDAS)
    )
    return StudyRun(
        data=source,
        model="bilstm, by lambda",
        encoder=BILSTM.encoder,
        method=BILSTM.method,
        role=BY_LAMBDA,
        run=RunWithBase(_run(source, scale, BILSTM, 0)),
        audit=PREDICTION,
        adversaries=adversaries,
    )


def _adversarial(scale: str, weight: float) -> dict[str, object]:
    """How adversaries are trained: their loss counts |dp| of one output unit, half of our TVD."""
    settings = FIXED["adversary"] | FEWER[scale] | {"options": {"weight": weight, "tvd_weight": 0.5}}
    return {f"training.{name}": value for name, value in settings.items()}


def _models(source: str, scale: str, seed: int) -> list[StudyRun]:
    """Each model from that seed; imposed is the attention of the BiLSTM from the same seed, or of its adversary."""
    bilstm = _run(source, scale, BILSTM, seed)
    adversary = update_settings(bilstm, {**_adversarial(scale, GUIDING), "seed": ADVERSARY_SEEDS[0]})
    bases = {MLP_IMPOSED: bilstm, MLP_GUIDED: RunWithBase(adversary, bilstm)}
    return [
        StudyRun(
            data=source,
            model=model.label,
            encoder=model.encoder,
            method=model.method,
            run=RunWithBase(_run(source, scale, model, seed), base=bases.get(model)),
            audit=PREDICTION,
        )
        for model in MODELS
        if model != MLP_GUIDED or source not in WITHOUT_NEED
    ]


def _run(source: str, scale: str, model: PaperModel, seed: int) -> Run:
    changes = {"encoder": ENCODERS[model.encoder], "attention": ATTENTIONS[model.method], **FIXED["network"]}
    epochs = {"epochs": 5} if scale == "small" else {}
    return Run(
        data=data_of(source, scale),
        text=text_of(source, scale),
        network=update_settings(VECTORS, changes),
        training=TrainingSettings(**jain_wallace.FIXED["training"] | FIXED["training"] | epochs),
        seed=seed,
    )


def tables(results: Results) -> list[Table]:
    """F1 of every model, what attention adds, and the spread over seeds."""
    return [_scores(results), _gain_table(results), _spread(results)]


def _scores(results: Results) -> Table:
    rows = tuple(((data,), tuple(_score_entry(results, data, model) for model in MODELS)) for data in results.datasets)
    note = "F1 of the positive class; the paper's as Amini and Kosseim report them."
    return Table("F1", "How well each model predicts", note, ("data",), tuple(model.label for model in MODELS), rows)


def _score_entry(results: Results, data: str, model: PaperModel) -> Entry:
    cell = model.cell(results, data)
    printed = number(NAME, item="Table 2 of Amini and Kosseim", data=data, model=model.label, measure="f1")
    return Entry(score_estimate(cell, "f1") if cell else None, printed)


def _gain_table(results: Results) -> Table:
    columns = {
        "bilstm: own attention - uniform": (BILSTM, BILSTM_UNIFORM),
        "mlp: own attention - uniform": (MLP, MLP_UNIFORM),
        "mlp: the bilstm's attention - its own": (MLP_IMPOSED, MLP),
        "mlp: the bilstm's attention - uniform": (MLP_IMPOSED, MLP_UNIFORM),
    }
    rows = tuple(
        ((data,), tuple(entry(gain(results, data, *pair)) for pair in columns.values())) for data in results.datasets
    )
    note = "Difference in accuracy, text by text, with the same seeds."
    return Table("Gain", "What the weights add", note, ("data",), tuple(columns), rows)


def _spread(results: Results) -> Table:
    columns = (LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS, ADVERSARIAL)
    rows = tuple(
        ((cell.data,), tuple(entry(cell.columns[name]) for name in columns))
        for cell in results.select(*columns, role=OTHER_SEEDS)
    )
    titles = (
        "largest JSD to another seed",
        "mean JSD",
        "decisions changed",
        "largest JSD with the same prediction (exact)",
    )
    note = "How far the attention of other seeds is from this one's, and how far any with the same prediction could be."
    return Table("Seeds", "Does attention depend on the seed?", note, ("data",), titles, rows)


MUCH_LESS = 0.5
"""The share of the adversary's divergence below which that of seeds counts as much less."""


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    lost = _gains(results, BILSTM_UNIFORM, BILSTM)
    parts = {
        "seeds_differ_much_less_than_adversary": _less_than_adversary(results),
        "imposed_attention_beats_uniform": _gains(results, MLP_IMPOSED, MLP_UNIFORM),
        "imposed_attention_beats_own": _gains(results, MLP_IMPOSED, MLP),
    }
    for data in WITHOUT_NEED:
        parts[f"attention_hardly_needed_{data}"] = {data: lost[data]} if data in lost else {}
    return judge_claims(NAME, parts)


def _less_than_adversary(results: Results) -> dict[str, Part]:
    """By data set; behind each are the audited model and those from the other seeds."""
    return {
        cell.data: Part(
            MUCH_LESS * cell.columns[ADVERSARIAL] - cell.columns[LARGEST_TO_SEED],
            beats_constant=cell_has_learnt(cell),
            trainings=len(cell.runs) + len(cell.comparison_models.seeds),
        )
        for cell in results.select(LARGEST_TO_SEED, ADVERSARIAL, role=OTHER_SEEDS)
    }


def _gains(results: Results, model: PaperModel, other: PaperModel) -> dict[str, Part]:
    """Accuracy of the model - accuracy of the other, text by text; left out where neither has learnt its task."""
    parts = {}
    for data in results.datasets:
        own, compared = (each.cell(results, data, CORRECT) for each in (model, other))
        if own is not None and compared is not None:
            gained = paired(own.columns[CORRECT], compared.columns[CORRECT])
            parts[data] = Part(gained, beats_constant=cell_has_learnt(own) or cell_has_learnt(compared))
    return parts


PAPER = "Wiegreffe & Pinter 2019, {}".format
GAINS = ("imposed_attention_beats_uniform", "imposed_attention_beats_own")
"""The claims about what the weights add."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """The spread over seeds (their Figure 3), and what the weights add."""
    cells, axis = results.select(role=OTHER_SEEDS), "largest JSD to another seed"
    by_weight = Heading("seeds", "Seeds, by the largest weight", PAPER("Figure 3"))
    histogram = Heading("seeds_histogram", "Seeds", PAPER("Figure 3"))
    gains = Heading("gains", "What the weights add to accuracy", PAPER("section 3.3"))
    return [
        *by_largest_figure(cells, LARGEST_TO_SEED, axis, by_weight),
        *histogram_figure(cells, LARGEST_TO_SEED, axis, (0.0, 0.7), histogram),
        *claims_figure(claims, GAINS, "accuracy gained", gains),
    ]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
