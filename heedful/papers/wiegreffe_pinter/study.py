"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from heedful.jobs.planning import RunWithBase
from heedful.papers.jain_wallace.columns import VECTORS, data_of, text_of
from heedful.papers.reproduction import NEVER_EARLY, Study, StudyRun
from heedful.papers.wiegreffe_pinter.claims import claims
from heedful.papers.wiegreffe_pinter.columns import (
    BILSTM,
    BILSTM_UNIFORM,
    MLP_IMPOSED,
    MODELS,
    NAME,
    OTHER_SEEDS,
    WITHOUT_NEED,
    PaperModel,
)
from heedful.papers.wiegreffe_pinter.figures import figures
from heedful.papers.wiegreffe_pinter.tables import tables
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings

SETS = ("sst2", "imdb", "ag_news", "newsgroups_sports")
ENCODERS = {"bilstm": "bilstm", "mlp": "average"}
ATTENTIONS = {"own": "additive", "uniform": "uniform", "imposed": "frozen"}
FIRST_OTHER_SEED = 100
PREDICTION = AuditSettings(tests=("prediction",), examples=None, shown=0)
SPREAD = AuditSettings(tests=("adversarial_attention",), examples=None, shown=0)
FEW_SEEDS, ENOUGH_SEEDS = 2, 5
"""The second: as many as a claim about a single set needs."""


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


STUDY = Study(
    name="wiegreffe-pinter",
    folder=NAME,
    title="Attention is not not Explanation",
    paper="Wiegreffe and Pinter (2019), Attention is not not Explanation, EMNLP, arXiv:1908.04626",
    scales={
        "small": "SST, AG News, 20 News (hockey, baseball); BiLSTM and MLP; 2 seeds, 3 more for the spread; 2,000 "
        "training texts of at most 100 words; 1,000 test texts",
        "medium": "SST, IMDB, AG News, 20 News (hockey, baseball); BiLSTM and MLP; 2 seeds (5 for the BiLSTM with and "
        "without attention on AG News and 20 News), 5 more for the spread; 3,000 training texts of at most 120 words; "
        "1,000 test texts",
        "paper": "the same four sets, whole; 5 seeds, 8 more for the spread",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
