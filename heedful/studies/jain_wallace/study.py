"""Jain and Wallace (2019), Attention is not Explanation: agreement, permuted attention, adversarial attention."""

from collections.abc import Callable

from heedful.battery.question import Columns, Values
from heedful.runs.grid import RunWithBase
from heedful.settings import AuditSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.studies.claims import paired, test_claim
from heedful.studies.jain_wallace.columns import (
    ADDITIVE,
    ADVERSARIAL,
    AVERAGE,
    BABI,
    BILSTM,
    CNN,
    DOT,
    EACH_OTHER,
    GRADIENT,
    HIGH,
    LEAVE_ONE_OUT,
    LITTLE,
    NAME,
    NEAR,
    PERMUTED,
    little_change_at_high_weight,
    near_cap,
    near_cap_at_high_weight,
)
from heedful.studies.jain_wallace.figures import figures
from heedful.studies.jain_wallace.preprocessing import VECTORS, data_of, text_of
from heedful.studies.jain_wallace.tables import tables
from heedful.studies.study import Cell, Claim, Results, Study, StudyRun

SETS = ("sst2", "imdb", "newsgroups_sports", "ag_news", *BABI, "snli")
ENCODERS = (BILSTM, AVERAGE, CNN)
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
        for encoder in ENCODERS
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
        network = NetworkSettings(embed_size=50)
    changes = {"encoder": encoder, "attention": attention, "hidden_size": widths[encoder]}
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
            epochs=epochs, patience=5, metric="accuracy", class_weights=False, loss_sum="mean", learning_rate=5e-3
        )
    if source == "snli":
        return TrainingSettings(epochs=6 if scale == "paper" else 4, metric="accuracy", class_weights=False)
    return TrainingSettings(epochs=8 if scale == "paper" else 5)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each as a number above a threshold."""
    return [*_encoder_claims(results), *_importance_claims(results), *_counterfactual_claims(results)]


def _encoder_claims(results: Results) -> list[Claim]:
    return [
        test_claim(
            "average_agrees_more_with_gradient",
            "Attention agrees with the gradient more for the average encoder than for the BiLSTM.",
            "section 4.1, Table 2, Figure 2",
            "tau with the gradient, average - BiLSTM, text by text",
            _average_minus_bilstm(results, GRADIENT),
        ),
        test_claim(
            "average_agrees_more_with_leave_one_out",
            "Attention agrees with leave-one-out more for the average encoder than for the BiLSTM.",
            "section 4.1, Figure 5",
            "tau with leave-one-out, average - BiLSTM, text by text",
            _average_minus_bilstm(results, LEAVE_ONE_OUT),
        ),
    ]


def _average_minus_bilstm(results: Results, column: str) -> dict[str, Values]:
    parts = {}
    for bilstm in results.select(column, encoder=BILSTM, method=ADDITIVE):
        average = results.find(column, data=bilstm.data, encoder=AVERAGE, method=ADDITIVE)
        if average is not None:
            parts[bilstm.data] = paired(average.columns[column], bilstm.columns[column])
    return parts


def _importance_claims(results: Results) -> list[Claim]:
    cells = results.select(GRADIENT, LEAVE_ONE_OUT, EACH_OTHER, encoder=BILSTM, method=ADDITIVE)

    def by_data(measure: Callable[[Columns], Values]) -> dict[str, Values]:
        return {cell.data: measure(cell.columns) for cell in cells}

    return [
        test_claim(
            "modest_agreement_with_gradient",
            "Attention agrees with the gradient only modestly for the BiLSTM: at or below .5.",
            "section 4.1, Figure 2",
            ".5 - tau with the gradient",
            by_data(lambda columns: 0.5 - columns[GRADIENT]),
        ),
        test_claim(
            "leave_one_out_agrees_more_with_gradient",
            "Leave-one-out agrees with the gradient more than with attention (BiLSTM).",
            "section 4.1, Figure 3",
            "tau of gradient and leave-one-out - tau of attention and leave-one-out",
            by_data(lambda columns: columns[EACH_OTHER] - columns[LEAVE_ONE_OUT]),
        ),
        test_claim(
            "gradient_agrees_more_with_leave_one_out",
            "The gradient agrees with leave-one-out more than with attention (BiLSTM).",
            "section 4.1, Figure 4",
            "tau of gradient and leave-one-out - tau of attention and gradient",
            by_data(lambda columns: columns[EACH_OTHER] - columns[GRADIENT]),
        ),
    ]


def _counterfactual_claims(results: Results) -> list[Claim]:
    cells = results.select(PERMUTED, ADVERSARIAL, encoder=BILSTM, method=ADDITIVE)

    def by_data(measure: Callable[[Cell], Values]) -> dict[str, Values]:
        return {cell.data: measure(cell) for cell in cells}

    return [
        test_claim(
            "permuting_changes_little",
            "Permuting attention changes the prediction little even where one weight is high (BiLSTM).",
            "section 4.2.1, Figure 6",
            f"share of texts with a median change below {LITTLE}, among those with a largest weight of {HIGH} or more",
            by_data(little_change_at_high_weight),
            threshold=0.5,
        ),
        test_claim(
            "different_attention_same_prediction",
            "For most texts some very different attention gives the same prediction (BiLSTM).",
            "section 4.2.2, Figure 7",
            f"share of texts with an eps-max JSD of at least {NEAR} of the maximum that any attention can reach",
            by_data(near_cap),
            threshold=0.5,
        ),
        test_claim(
            "different_attention_at_high_weight",
            "Very different attention gives the same prediction even where one weight is high (BiLSTM).",
            "section 4.2.2, Figure 8",
            f"the same share, among texts with a largest weight of {HIGH} or more",
            by_data(near_cap_at_high_weight),
            threshold=0.5,
        ),
    ]


STUDY = Study(
    name="jain-wallace",
    folder=NAME,
    title="Attention is not Explanation",
    paper="Jain and Wallace (2019), Attention is not Explanation, NAACL, arXiv:1902.10186",
    scales={
        "small": "SST, 20 News (hockey, baseball), AG News, bAbI 1; BiLSTM, average and CNN with additive attention; "
        "2 seeds; 2,000 training texts of at most 100 words; 300 test texts audited",
        "medium": "all eight sets; BiLSTM, average and CNN with additive (2 seeds) and dot attention (1 seed); "
        "3,000 training texts (bAbI 4,000) of at most 120 words; 300 test texts audited",
        "paper": "all eight sets, whole; BiLSTM, average and CNN with additive and dot attention; 5 seeds; every test "
        "text audited (500 where there are three classes or more)",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
