"""Wiegreffe and Pinter (2019), Attention is not not Explanation: is attention needed, does it depend on the seed?"""

from heedful.battery.question import Values
from heedful.runs.grid import RunWithBase
from heedful.settings import AuditSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.studies.claims import test_claim
from heedful.studies.jain_wallace.preprocessing import VECTORS, data_of, text_of
from heedful.studies.study import Claim, Results, Study, StudyRun
from heedful.studies.wiegreffe_pinter.figures import figures
from heedful.studies.wiegreffe_pinter.models import (
    ADVERSARIAL,
    BILSTM,
    BILSTM_UNIFORM,
    LARGEST_TO_SEED,
    MLP,
    MLP_IMPOSED,
    MLP_UNIFORM,
    MODELS,
    NAME,
    OTHER_SEEDS,
    PaperModel,
    gain,
)
from heedful.studies.wiegreffe_pinter.tables import tables

SETS = ("sst2", "imdb", "ag_news", "newsgroups_sports")
ENCODERS = {"bilstm": "bilstm", "mlp": "average"}
ATTENTIONS = {"own": "additive", "uniform": "uniform", "imposed": "frozen"}
FIRST_OTHER_SEED = 100
PREDICTION = AuditSettings(tests=("prediction",), shown=0)
SPREAD = AuditSettings(tests=("adversarial_attention",), shown=0)
TOLERANCE = 0.02
"""Accuracy that may be lost and still count as little."""


def runs(scale: str) -> list[StudyRun]:
    """BiLSTM and MLP, each with its own and uniform attention; the MLP with the BiLSTM's; the BiLSTM's other seeds."""
    sets = ("sst2", "ag_news", "newsgroups_sports") if scale == "small" else SETS
    seeds = 5 if scale == "paper" else 2
    return [
        study_run
        for source in sets
        for study_run in (
            _compared_with_seeds(source, scale),
            *(study_run for seed in range(seeds) for study_run in _models(source, scale, seed)),
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
    """Each model from that seed; the imposed attention is that of the BiLSTM from the same seed."""
    bilstm = _run(source, scale, BILSTM, seed)
    return [
        StudyRun(
            data=source,
            model=model.label,
            encoder=model.encoder,
            method=model.method,
            run=RunWithBase(_run(source, scale, model, seed), base=bilstm if model == MLP_IMPOSED else None),
            audit=PREDICTION,
        )
        for model in MODELS
    ]


def _run(source: str, scale: str, model: PaperModel, seed: int) -> Run:
    changes = {"encoder": ENCODERS[model.encoder], "attention": ATTENTIONS[model.method], "activation": "tanh"}
    return Run(
        data=data_of(source, scale),
        text=text_of(source, scale),
        network=update_settings(VECTORS, changes),
        training=TrainingSettings(epochs=8 if scale == "paper" else 5),
        seed=seed,
    )


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each as a number above a threshold."""
    spread = results.select(LARGEST_TO_SEED, ADVERSARIAL, role=OTHER_SEEDS)
    lost = _gains(results, BILSTM, BILSTM_UNIFORM)
    return [
        test_claim(
            "attention_hardly_needed",
            "On these tasks attention is hardly needed: a BiLSTM with uniform weights does nearly as well.",
            "section 3.1",
            f"{TOLERANCE} - the accuracy lost with uniform weights",
            {data: TOLERANCE - values for data, values in lost.items()},
        ),
        test_claim(
            "seeds_differ_less_than_adversary",
            "Attention differs less between seeds than between a model and its adversary.",
            "section 3.2, Figure 3",
            "largest JSD with the same prediction - largest JSD to another seed",
            {cell.data: cell.columns[ADVERSARIAL] - cell.columns[LARGEST_TO_SEED] for cell in spread},
        ),
        test_claim(
            "imposed_attention_beats_uniform",
            "The BiLSTM's attention helps a model without context more than uniform weights do.",
            "section 3.3",
            "accuracy of the MLP, the BiLSTM's attention - uniform weights",
            _gains(results, MLP_IMPOSED, MLP_UNIFORM),
        ),
        test_claim(
            "imposed_attention_beats_own",
            "The BiLSTM's attention helps a model without context more than attention of its own does.",
            "section 3.3",
            "accuracy of the MLP, the BiLSTM's attention - its own",
            _gains(results, MLP_IMPOSED, MLP),
        ),
    ]


def _gains(results: Results, model: PaperModel, other: PaperModel) -> dict[str, Values]:
    gains = {data: gain(results, data, model, other) for data in results.datasets}
    return {data: values for data, values in gains.items() if values is not None}


STUDY = Study(
    name="wiegreffe-pinter",
    folder=NAME,
    title="Attention is not not Explanation",
    paper="Wiegreffe and Pinter (2019), Attention is not not Explanation, EMNLP, arXiv:1908.04626",
    scales={
        "small": "SST, AG News, 20 News (hockey, baseball); BiLSTM and MLP; 2 seeds, 3 more for the spread; 2,000 "
        "training texts of at most 100 words; 1,000 test texts",
        "medium": "IMDB as well; 2 seeds, 5 more for the spread; 3,000 training texts of at most 120 words; 1,000 test "
        "texts",
        "paper": "the same four sets, whole; 5 seeds, 8 more for the spread",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
