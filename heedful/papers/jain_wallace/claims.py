"""What Jain and Wallace (2019) say about their results, tested on audited rows."""

from collections.abc import Callable

from heedful.battery.question import Columns, Values
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.jain_wallace.columns import (
    ADDITIVE,
    ADVERSARIAL,
    AVERAGE,
    BILSTM,
    EACH_OTHER,
    GRADIENT,
    HIGH,
    LEAVE_ONE_OUT,
    LITTLE,
    NEAR,
    PERMUTED,
    little_change_at_high_weight,
    near_cap,
    near_cap_at_high_weight,
)
from heedful.papers.reproduction import Cell, Claim, Results

TAU, TAU_MARGIN = "Kendall's tau", 0.05
SHARE, SHARE_MARGIN = "share of texts", 0.05
MODEST = 0.5
"""The largest agreement that still counts as modest; the paper: "around or below 0.5"."""
MANY = 0.1
"""The share of texts from which on we read "many" and "a significant number"; the paper gives no number."""

AVERAGE_AND_GRADIENT = Claim(
    id="average_agrees_more_with_gradient",
    statement="Attention agrees with the gradient more for the average encoder than for the BiLSTM.",
    quote="show much higher correspondence with attention weights",
    source="section 4.1, Table 2, Figure 2",
    measured="tau with the gradient, average - BiLSTM, text by text",
    unit=TAU,
    margin=TAU_MARGIN,
)
AVERAGE_AND_LEAVE_ONE_OUT = Claim(
    id="average_agrees_more_with_leave_one_out",
    statement="Attention agrees with leave-one-out more for the average encoder than for the BiLSTM.",
    quote="much stronger, on average, than those between BiLSTM attention weights and LOO",
    source="section 4.1, Figure 5",
    measured="tau with leave-one-out, average - BiLSTM, text by text",
    unit=TAU,
    margin=TAU_MARGIN,
)
MODEST_AGREEMENT = Claim(
    id="modest_agreement_with_gradient",
    statement="Attention agrees with the gradient only modestly for the BiLSTM: around .5 or less.",
    quote="hovers around or below 0.5 in most of the corpora considered",
    source="section 4.1, Figure 2",
    measured=f"{MODEST:g} - tau with the gradient",
    unit=TAU,
    margin=TAU_MARGIN,
    kind="no_less",
)
LEAVE_ONE_OUT_AND_GRADIENT = Claim(
    id="leave_one_out_agrees_more_with_gradient",
    statement="Leave-one-out agrees with the gradient more than with attention (BiLSTM).",
    quote="considerably higher correlation with one another (on average) than LOO does with attention scores",
    source='section 4.1, Figure 3 ("The lone exception is on SNLI")',
    measured="tau of gradient and leave-one-out - tau of attention and leave-one-out",
    unit=TAU,
    margin=TAU_MARGIN,
    excepts=("snli",),
)
GRADIENT_AND_LEAVE_ONE_OUT = Claim(
    id="gradient_agrees_more_with_leave_one_out",
    statement="The gradient agrees with leave-one-out more than with attention (BiLSTM).",
    quote="Figure 4 shows the same for gradients and attention scores; the differences are comparable",
    source="section 4.1, Figure 4",
    measured="tau of gradient and leave-one-out - tau of attention and gradient",
    unit=TAU,
    margin=TAU_MARGIN,
)
PERMUTING = Claim(
    id="permuting_changes_little",
    statement="For many texts permuting attention changes the prediction little though one weight is high (BiLSTM).",
    quote="despite large magnitude attention weights",
    source=f'section 4.2.1, Figure 6 ("many points": our reading, {100 * MANY:.0f} % of the texts)',
    measured=(
        f"share of texts with a median change below {LITTLE}, among those with a largest weight of {HIGH} or more"
    ),
    unit=SHARE,
    margin=SHARE_MARGIN,
    baseline=MANY,
)
DIFFERENT_ATTENTION = Claim(
    id="different_attention_same_prediction",
    statement="For a significant number of texts some very different attention gives the same prediction (BiLSTM).",
    quote="adversarial attention weights associated with high JSD for a significant number of examples",
    source=f'section 4.2.2, Figure 7 ("a significant number": our reading, {100 * MANY:.0f} % of the texts)',
    measured=f"share of texts with an eps-max JSD of at least {NEAR} of the maximum that any attention can reach",
    unit=SHARE,
    margin=SHARE_MARGIN,
    baseline=MANY,
)
DIFFERENT_AT_HIGH_WEIGHT = Claim(
    id="different_attention_at_high_weight",
    statement="For many texts with a high weight some very different attention gives the same prediction (BiLSTM).",
    quote="despite a high attention weight, an alternative and quite different attention configuration",
    source=f'section 4.2.2, Figure 8 ("many cases": our reading, {100 * MANY:.0f} % of the texts)',
    measured=(
        f"share of texts with an eps-max JSD of at least {NEAR} of the maximum that any attention can reach, among "
        f"those with a largest weight of {HIGH} or more"
    ),
    unit=SHARE,
    margin=SHARE_MARGIN,
    baseline=MANY,
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    return [*_encoder_claims(results), *_importance_claims(results), *_counterfactual_claims(results)]


def _encoder_claims(results: Results) -> list[Claim]:
    return [
        test_claim(AVERAGE_AND_GRADIENT, _average_minus_bilstm(results, GRADIENT)),
        test_claim(AVERAGE_AND_LEAVE_ONE_OUT, _average_minus_bilstm(results, LEAVE_ONE_OUT)),
    ]


def _average_minus_bilstm(results: Results, column: str) -> dict[str, Part]:
    parts = {}
    for bilstm in results.select(column, encoder=BILSTM, method=ADDITIVE):
        average = results.find(column, data=bilstm.data, encoder=AVERAGE, method=ADDITIVE)
        if average is not None:
            difference = paired(average.columns[column], bilstm.columns[column])
            parts[bilstm.data] = part_of(difference, average, bilstm)
    return parts


def _importance_claims(results: Results) -> list[Claim]:
    cells = results.select(GRADIENT, LEAVE_ONE_OUT, EACH_OTHER, encoder=BILSTM, method=ADDITIVE)

    def by_data(measure: Callable[[Columns], Values]) -> dict[str, Part]:
        return {cell.data: part_of(measure(cell.columns), cell) for cell in cells}

    return [
        test_claim(MODEST_AGREEMENT, by_data(lambda columns: MODEST - columns[GRADIENT])),
        test_claim(LEAVE_ONE_OUT_AND_GRADIENT, by_data(lambda columns: columns[EACH_OTHER] - columns[LEAVE_ONE_OUT])),
        test_claim(GRADIENT_AND_LEAVE_ONE_OUT, by_data(lambda columns: columns[EACH_OTHER] - columns[GRADIENT])),
    ]


def _counterfactual_claims(results: Results) -> list[Claim]:
    cells = results.select(PERMUTED, ADVERSARIAL, encoder=BILSTM, method=ADDITIVE)

    def by_data(measure: Callable[[Cell], Values]) -> dict[str, Part]:
        return {cell.data: part_of(measure(cell), cell) for cell in cells}

    return [
        test_claim(PERMUTING, by_data(little_change_at_high_weight)),
        test_claim(DIFFERENT_ATTENTION, by_data(near_cap)),
        test_claim(DIFFERENT_AT_HIGH_WEIGHT, by_data(near_cap_at_high_weight)),
    ]
