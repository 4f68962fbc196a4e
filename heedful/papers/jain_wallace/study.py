"""Jain and Wallace (2019), Attention is not Explanation: agreement, permuted attention, adversarial attention."""

from heedful.jobs.planning import RunWithBase
from heedful.papers.jain_wallace.claims import claims
from heedful.papers.jain_wallace.columns import (
    ADDITIVE,
    AVERAGE,
    BABI,
    BILSTM,
    CNN,
    DOT,
    NAME,
    VECTORS,
    data_of,
    text_of,
)
from heedful.papers.jain_wallace.figures import figures
from heedful.papers.jain_wallace.tables import tables
from heedful.papers.reproduction import (
    ENCODER,
    MINILM,
    NEVER_EARLY,
    NORMAL_START,
    Results,
    Study,
    StudyRun,
    encoders_with_minilm,
    remark_on_minilm,
)
from heedful.settings import AuditSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings

SETS = ("sst2", "imdb", "newsgroups_sports", "ag_news", *BABI, "snli")
ENCODERS = (BILSTM, AVERAGE, CNN)
WITH_MINILM = {"small": ("sst2",), "medium": ("sst2", "ag_news"), "paper": ("sst2", "ag_news")}
"""Sets that are read by MiniLM, too, which is none of the paper's encoders."""
SEEDS = {"small": {ADDITIVE: 2}, "medium": {ADDITIVE: 2, DOT: 1}, "paper": {ADDITIVE: 5, DOT: 5}}
"""How many seeds each attention is trained from."""
TESTS = ("gradient_agreement", "leave_one_out_agreement", "permutation", "adversarial_attention")


def runs(scale: str) -> list[StudyRun]:
    """Each set with each encoder and attention; dot attention from fewer seeds below the paper's scale."""
    sets = ("sst2", "newsgroups_sports", "ag_news", "babi_task1") if scale == "small" else SETS
    audit = AuditSettings(tests=TESTS, examples={"small": 300, "medium": 300, "paper": None}[scale], shown=0)
    return [
        StudyRun(
            data=source,
            model=f"{encoder} {attention}",
            encoder=encoder,
            method=attention,
            run=RunWithBase(_run(source, encoder, attention, seed, scale)),
            audit=audit,
        )
        for source in sets
        for attention, count in SEEDS[scale].items()
        for encoder in encoders_with_minilm(ENCODERS, wanted=source in WITH_MINILM[scale] and attention == ADDITIVE)
        for seed in range(count)
    ]


def _run(source: str, encoder: str, attention: str, seed: int, scale: str) -> Run:
    data, text, network = data_of(source, scale), text_of(source, scale), VECTORS
    widths = {BILSTM: 128, AVERAGE: 256, CNN: 64}
    if source in BABI:
        # Small models that must read every word, and as many examples as time allows.
        data = update_settings(data, {"train_limit": {"small": 2_000, "medium": 4_000, "paper": None}[scale]})
        text = update_settings(text, {"max_tokens": None})
        widths = {BILSTM: 30, AVERAGE: 60, CNN: 8}
        network = NetworkSettings(embed_size=50, **NORMAL_START)
    changes = {"encoder": encoder, "attention": attention, "hidden_size": widths.get(encoder, 128)}
    if encoder == MINILM:
        network, changes = NetworkSettings(**NORMAL_START), {"encoder": ENCODER, "attention": attention}
    return Run(
        data=data,
        text=text,
        network=update_settings(network, changes),
        training=_training(source, scale),
        seed=seed,
    )


def _training(source: str, scale: str) -> TrainingSettings:
    if source in BABI:
        epochs = {"small": 15, "medium": 20, "paper": 100}[scale]
        return TrainingSettings(
            **{**NEVER_EARLY, "patience": 5},
            epochs=epochs,
            metric="accuracy",
            class_weights=False,
            loss_sum="mean",
            learning_rate=5e-3,
        )
    if source == "snli":
        return TrainingSettings(
            **NEVER_EARLY, epochs=6 if scale == "paper" else 4, metric="accuracy", class_weights=False
        )
    return TrainingSettings(**NEVER_EARLY, epochs=8 if scale == "paper" else 5)


def remarks(results: Results) -> list[str]:
    """What is missing."""
    return remark_on_minilm(results, "a pretrained transformer beside the paper's encoders")


STUDY = Study(
    name="jain-wallace",
    folder=NAME,
    title="Attention is not Explanation",
    paper="Jain and Wallace (2019), Attention is not Explanation, NAACL, arXiv:1902.10186",
    scales={
        "small": "SST, 20 News (hockey, baseball), AG News, bAbI 1; BiLSTM, average and CNN with additive attention; "
        "2 seeds; 2,000 training texts of at most 100 words; 300 test texts audited. On SST frozen MiniLM as well, "
        "where it is at hand",
        "medium": "all eight sets; BiLSTM, average and CNN with additive (2 seeds) and dot attention (1 seed); "
        "3,000 training texts (bAbI 4,000) of at most 120 words; 300 test texts audited. On SST and AG News frozen "
        "MiniLM as well, where it is at hand",
        "paper": "all eight sets, whole; BiLSTM, average and CNN with additive and dot attention; 5 seeds; every test "
        "text audited. MiniLM as above",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
    remarks=remarks,
)
