"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from dataclasses import dataclass

import torch

from heedful.battery.question import Values
from heedful.jobs.planning import RunWithBase
from heedful.papers.claim_rule import entry, estimate, paired, score_estimate
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number
from heedful.papers.reproduction import NEVER_EARLY, Cell, Entry, Results, Study, StudyRun, Table, study_file
from heedful.papers.study_figures import Heading, by_largest_figure, histogram_figure, intervals_figure
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings

NAME = "wiegreffe_pinter"
CORRECT = "prediction.correct"
LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS = "seeds.max_js", "seeds.mean_js", "seeds.flips"
ADVERSARIAL = "adversarial_attention.js"
OTHER_SEEDS = "other seeds"
"""The role of the run whose attention is compared with that of other seeds."""
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
MODELS = (BILSTM, BILSTM_UNIFORM, MLP, MLP_UNIFORM, MLP_IMPOSED)


def gain(results: Results, data: str, model: PaperModel, other: PaperModel) -> Values | None:
    """Accuracy of the model - accuracy of the other, text by text; None where one of them was not measured."""
    cell, compared = model.cell(results, data, CORRECT), other.cell(results, data, CORRECT)
    return None if cell is None or compared is None else paired(cell.columns[CORRECT], compared.columns[CORRECT])


SETS = ("sst2", "imdb", "ag_news", "newsgroups_sports")
ENCODERS = {"bilstm": "bilstm", "mlp": "average"}
ATTENTIONS = {"own": "additive", "uniform": "uniform", "imposed": "frozen"}
FIRST_OTHER_SEED = 100
PREDICTION = AuditSettings(tests=("prediction",), examples=None, shown=0)
SPREAD = AuditSettings(tests=("adversarial_attention",), examples=None, shown=0)
FEW_SEEDS, ENOUGH_SEEDS = 2, 5


def runs(scale: str) -> list[StudyRun]:
    """BiLSTM and MLP, each with its own and uniform attention; the MLP with the BiLSTM's; the BiLSTM's other seeds."""
    sets = ("sst2", "ag_news", "newsgroups_sports") if scale == "small" else SETS
    return [
        study_run
        for source in sets
        for study_run in (
            _compared_with_seeds(source, scale),
            *(study_run for seed in range(ENOUGH_SEEDS) for study_run in _models(source, scale, seed)),
        )
    ]


def _compared_with_seeds(source: str, scale: str) -> StudyRun:
    """The BiLSTM whose attention is compared with that of other seeds."""
    others = range(FIRST_OTHER_SEED, FIRST_OTHER_SEED + {"small": 3, "medium": 5, "paper": 8}[scale])
    return StudyRun(
        data=source,
        model="bilstm, against other seeds",
        encoder=BILSTM.encoder,
        method=BILSTM.method,
        role=OTHER_SEEDS,
        run=RunWithBase(_run(source, scale, BILSTM, 0)),
        audit=SPREAD,
        seeds=tuple(RunWithBase(_run(source, scale, BILSTM, seed)) for seed in others),
    )


def _models(source: str, scale: str, seed: int) -> list[StudyRun]:
    """Each model from that seed; the imposed attention is that of the BiLSTM from the same seed.

    Below the paper's scale, most models have FEW_SEEDS only; those that a claim about a single set compares have all
    at medium scale.
    """
    bilstm, models = _run(source, scale, BILSTM, seed), MODELS
    if scale != "paper" and seed >= FEW_SEEDS:
        models = (BILSTM, BILSTM_UNIFORM) if scale == "medium" and source in WITHOUT_NEED else ()
    return [
        StudyRun(
            data=source,
            model=model.label,
            encoder=model.encoder,
            method=model.method,
            run=RunWithBase(_run(source, scale, model, seed), base=bilstm if model == MLP_IMPOSED else None),
            audit=PREDICTION,
        )
        for model in models
    ]


def _run(source: str, scale: str, model: PaperModel, seed: int) -> Run:
    changes = {"encoder": ENCODERS[model.encoder], "attention": ATTENTIONS[model.method], "activation": "tanh"}
    return Run(
        data=data_of(source, scale),
        text=text_of(source, scale),
        network=update_settings(VECTORS, changes),
        training=TrainingSettings(**NEVER_EARLY, epochs=8 if scale == "paper" else 5),
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
        ((data,), tuple(entry(gain(results, data, *pair), is_difference=True) for pair in columns.values()))
        for data in results.datasets
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


def adversary_beyond_seeds(cell: Cell) -> Values:
    """How much farther the trained adversary's attention is than that of any other seed."""
    farthest = [values for name, values in cell.columns.items() if name.startswith("adversarial_models.js_")]
    if not farthest:
        raise KeyError("adversarial_models.js_1")
    return torch.stack(farthest).amax(0) - cell.columns[LARGEST_TO_SEED]


PAPER = "Wiegreffe & Pinter 2019, {}".format


def figures(results: Results) -> list[Figure]:
    """The spread over seeds (their Figure 3), and what the weights add."""
    cells, axis = results.select(role=OTHER_SEEDS), "largest JSD to another seed"
    by_weight = Heading("seeds", "Seeds, by the largest weight", PAPER("Figure 3"))
    histogram = Heading("seeds_histogram", "Seeds", PAPER("Figure 3"))
    gains = Heading("gains", "What the weights add to accuracy", PAPER("section 3.3"))
    return [
        *by_largest_figure(cells, LARGEST_TO_SEED, axis, by_weight),
        *histogram_figure(cells, LARGEST_TO_SEED, axis, (0.0, 0.7), histogram),
        *intervals_figure(
            {
                (data, f"the bilstm's attention - {name}"): estimate(values, is_difference=True)
                for name, other in {"uniform": MLP_UNIFORM, "its own": MLP}.items()
                for data in results.datasets
                if (values := gain(results, data, MLP_IMPOSED, other)) is not None
            },
            "accuracy gained",
            gains,
        ),
    ]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns={"adversary_beyond_seeds": adversary_beyond_seeds},
    figures=figures,
)
