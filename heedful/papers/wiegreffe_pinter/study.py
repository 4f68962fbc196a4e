"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from dataclasses import dataclass

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.question import Values
from heedful.jobs.planning import ADVERSARY_SEEDS, RunWithBase
from heedful.papers.charts import curves
from heedful.papers.claim_rule import entry, estimate, paired, score_estimate
from heedful.papers.jain_wallace import study as jain_wallace
from heedful.papers.jain_wallace.study import VECTORS, data_of, text_of
from heedful.papers.published import number
from heedful.papers.reproduction import Adversary, Cell, Entry, Results, Study, StudyRun, Table, study_file
from heedful.papers.study_figures import Heading, by_largest_figure, histogram_figure, intervals_figure, study_figure
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings

NAME = "wiegreffe_pinter"
FIXED = study_file(NAME, "settings.toml")
"""Every setting that a recipe must fix in addition to those of Jain and Wallace."""
CORRECT = "prediction.correct"
LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS = "seeds.max_js", "seeds.mean_js", "seeds.flips"
MOST_MOVED = "seeds.max_tvd"
ADVERSARIAL = "adversarial_attention.js"
OTHER_SEEDS = "other seeds"
"""The role of the run whose attention is compared with that of other seeds and of its adversaries."""
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
MLP_GUIDED = PaperModel("mlp, attention of the adversary", "mlp", "adversary")
MODELS = (BILSTM, BILSTM_UNIFORM, MLP, MLP_UNIFORM, MLP_IMPOSED, MLP_GUIDED)


def gain(results: Results, data: str, model: PaperModel, other: PaperModel) -> Values | None:
    """Accuracy of the model - accuracy of the other, text by text; None where one of them was not measured."""
    cell, compared = model.cell(results, data, CORRECT), other.cell(results, data, CORRECT)
    return None if cell is None or compared is None else paired(cell.columns[CORRECT], compared.columns[CORRECT])


SETS = ("sst2", "newsgroups_sports", "imdb", "ag_news")
"""The most valuable first: runs are done in this order."""
ENCODERS = {"bilstm": "bilstm", "mlp": "average"}
ATTENTIONS = {"own": "additive", "uniform": "uniform", "imposed": "frozen", "adversary": "frozen"}
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
        *(_compared_with_seeds(source, scale) for source in sets),
    ]


def _compared_with_seeds(source: str, scale: str) -> StudyRun:
    """The BiLSTM whose attention is compared with that of other seeds, and of an adversary for each lambda."""
    weights = () if source in WITHOUT_NEED else LAMBDAS
    return StudyRun(
        data=source,
        model="bilstm, against other seeds",
        encoder=BILSTM.encoder,
        method=BILSTM.method,
        role=OTHER_SEEDS,
        run=RunWithBase(_run(source, scale, BILSTM, 0)),
        audit=SPREAD,
        seeds=tuple(RunWithBase(_run(source, scale, BILSTM, 1 + seed)) for seed in range(OTHERS[scale])),
        adversaries=tuple(Adversary(ADVERSARY_SEEDS[0], _adversarial(scale, weight)) for weight in weights),
    )


def _adversarial(scale: str, weight: float) -> dict[str, object]:
    """How adversaries are trained: their loss counts |dp| of one output unit, half of our TVD."""
    return FIXED["adversary"] | FEWER[scale] | {"options": {"weight": weight, "tvd_weight": 0.5}}


def _models(source: str, scale: str, seed: int) -> list[StudyRun]:
    """Each model from that seed; imposed is the attention of the BiLSTM from the same seed, or of its adversary."""
    bilstm = _run(source, scale, BILSTM, seed)
    training = {f"training.{name}": value for name, value in _adversarial(scale, GUIDING).items()}
    adversary = update_settings(bilstm, {**training, "seed": ADVERSARY_SEEDS[0]})
    bases = {MLP_IMPOSED: (bilstm, None), MLP_GUIDED: (adversary, bilstm)}
    return [
        StudyRun(
            data=source,
            model=model.label,
            encoder=model.encoder,
            method=model.method,
            run=RunWithBase(_run(source, scale, model, seed), *bases.get(model, ())),
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
    """F1 of every model, what attention adds, the spread over seeds, and adversaries by lambda."""
    return [
        _scores(results, "Table 2", "How well the BiLSTM predicts with its own and uniform attention", MODELS[:2]),
        _scores(results, "Section 3.4", "How well the MLP predicts with each attention", MODELS[2:]),
        _gain_table(results),
        _spread(results),
        _by_lambda(results),
    ]


def _scores(results: Results, name: str, title: str, models: tuple[PaperModel, ...]) -> Table:
    rows = tuple(
        ((data,), tuple(_score_entry(results, data, model) for model in models))
        for data in results.datasets
        if any(model.cell(results, data) for model in models)
    )
    note = "F1 of the positive class; the paper's as others report them."
    return Table(name, title, note, ("data",), tuple(model.label for model in models), rows)


def _score_entry(results: Results, data: str, model: PaperModel) -> Entry:
    cell = model.cell(results, data)
    item = "Table 2" if model == BILSTM_UNIFORM else "Table 2 of Amini and Kosseim"
    printed = number(NAME, item=item, data=data, model=model.label, measure="f1")
    return Entry(score_estimate(cell, "f1") if cell else None, printed)


def _gain_table(results: Results) -> Table:
    columns = {
        "bilstm: own attention - uniform": (BILSTM, BILSTM_UNIFORM),
        "mlp: own attention - uniform": (MLP, MLP_UNIFORM),
        "mlp: the bilstm's attention - its own": (MLP_IMPOSED, MLP),
        "mlp: the bilstm's attention - uniform": (MLP_IMPOSED, MLP_UNIFORM),
        "mlp: the adversary's attention - uniform": (MLP_GUIDED, MLP_UNIFORM),
        "mlp: the bilstm's attention - the adversary's": (MLP_IMPOSED, MLP_GUIDED),
    }
    rows = tuple(
        ((data,), tuple(entry(gain(results, data, *pair), is_difference=True) for pair in columns.values()))
        for data in results.datasets
    )
    note = "Difference in accuracy, text by text, with the same seeds."
    return Table("Sections 3.2 and 3.4", "What the weights add", note, ("data",), tuple(columns), rows)


SPREADS = {
    LARGEST_TO_SEED: "largest JSD to another seed",
    MEAN_TO_SEED: "mean JSD",
    "seeds.shuffled_js": "mean JSD to its own weights, shuffled",
    "seeds.overlap": "share of the top words in common",
    "seeds.max_tvd": "largest change of the prediction",
    SEED_FLIPS: "decisions changed",
    ADVERSARIAL: "largest JSD with the same prediction (exact)",
}


def _spread(results: Results) -> Table:
    rows = tuple(
        ((cell.data,), tuple(entry(cell.columns[name].double()) for name in SPREADS))
        for cell in results.select(*SPREADS, role=OTHER_SEEDS)
    )
    note = "How far the attention of other seeds is from this one's, and how far any with the same prediction could be."
    titles = tuple(SPREADS.values())
    return Table("Figure 3, as numbers", "Does attention depend on the seed?", note, ("data",), titles, rows)


def _lambda_columns(cell: Cell) -> dict[float, tuple[Values, Values]]:
    """TVD (over one output unit, as the paper counts) and JSD of each adversary from the model, by its lambda."""
    columns = {}
    for place, file in enumerate(cell.comparison_models.adversaries, start=1):
        tvd, js = (cell.columns[f"adversarial_models.{name}_{place}"] for name in ("tvd", "js"))
        columns[float(file.run.training.options["weight"])] = (tvd / 2, js)
    return columns


def _adversary_cells(results: Results) -> list[Cell]:
    return results.select(f"adversarial_models.js_{len(LAMBDAS)}", role=OTHER_SEEDS)


def _by_lambda(results: Results) -> Table:
    rows = tuple(
        ((cell.data, f"{weight:g}"), (entry(tvd), entry(js), entry(cell.columns[LARGEST_TO_SEED])))
        for cell in _adversary_cells(results)
        for weight, (tvd, js) in _lambda_columns(cell).items()
    )
    note = (
        "Adversaries are trained to predict like the BiLSTM and to attend elsewhere, which counts lambda. TVD over one "
        "output unit. An adversary says something if its attention is farther than that of any other seed."
    )
    columns = ("TVD", "JSD", "largest JSD to another seed")
    return Table("Section 4", "Adversaries by lambda", note, ("data", "lambda"), columns, rows)


def adversary_beyond_seeds(cell: Cell) -> Values:
    """How much farther a trained adversary's attention is than that of any other seed, text by text.

    Of adversaries that move the prediction no more than other seeds do, on average, the farthest counts; if there are
    none, the one that moves it least.
    """
    tvds, divergences = (_of_adversaries(cell, measure) for measure in ("tvd", "js"))
    moved, allowed = tvds.flatten(1).nanmean(1), cell.columns[MOST_MOVED].nanmean()
    farthest = divergences.flatten(1).nanmean(1).masked_fill(moved > allowed, -1.0)
    return divergences[farthest.argmax() if farthest.max() >= 0 else moved.argmin()] - cell.columns[LARGEST_TO_SEED]


def _of_adversaries(cell: Cell, measure: str) -> Float[Tensor, "adversary seed text"]:
    prefix = f"adversarial_models.{measure}_"
    several = [values for name, values in sorted(cell.columns.items()) if name.startswith(prefix)]
    if not several:
        raise KeyError(prefix)
    return torch.stack(several)


PAPER = "Wiegreffe & Pinter 2019, {}".format


def figures(results: Results) -> list[Figure]:
    """The spread over seeds (their Figure 3), and what the weights add."""
    cells, axis = results.select(role=OTHER_SEEDS), "largest JSD to another seed"
    by_weight = Heading("seeds", "Seeds, by the largest weight", PAPER("Figure 3"))
    histogram = Heading("seeds_histogram", "Seeds", PAPER("Figure 3"))
    gains = Heading("gains", "What the weights add to accuracy", PAPER("section 3.4"))
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
        *_curve(results),
    ]


def _curve(results: Results) -> list[Figure]:
    """JSD against TVD over lambda, next to the other seeds."""
    points = [
        {"data": cell.data, "series": series, "x": tvd.mean().item(), "y": js.nanmean().item()}
        for cell in _adversary_cells(results)
        for series, pairs in {
            "adversaries, by lambda": list(_lambda_columns(cell).values()),
            "other seeds, the largest": [(cell.columns["seeds.max_tvd"] / 2, cell.columns[LARGEST_TO_SEED])],
        }.items()
        for tvd, js in pairs
    ]
    if not points:
        return []
    frame = pl.DataFrame(points)
    series = list(dict.fromkeys(frame["series"]))
    alt = "; ".join(map("{}, {}: TVD {:.3f}, JSD {:.3f}".format, *frame.select("data", "series", "x", "y")))
    heading = Heading("by_lambda", "How far attention moves at which cost", PAPER("section 4"))
    caption = "Means over texts, a point for each lambda; TVD over one output unit."
    return [study_figure(heading, curves(frame, "TVD", "JSD", series), caption=caption, alt=f"Curves. {alt}.")]


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns={"adversary_beyond_seeds": adversary_beyond_seeds},
    figures=figures,
)
