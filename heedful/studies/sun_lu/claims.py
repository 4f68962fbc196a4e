"""What Sun and Lu (2020) say about their results, tested on recorded scores and audited weights."""

from heedful.battery.question import Values
from heedful.studies.claims import Shaped, paired, test_claim
from heedful.studies.study import Cell, Claim, Results
from heedful.studies.sun_lu.models import (
    ABOVE,
    AD_MODERATE,
    CORRECT,
    DP_KEPT_SMALL,
    DP_LARGE,
    DP_MODERATE,
    DP_PLANTED,
    DP_TINY,
    LARGE,
    MODERATE,
    TINY,
    ScaledModel,
)
from heedful.studies.sun_lu.token_history import indicative, neutral, shares, split_shares, sunken_shares

CLAIMED_ON = ("planted", "planted-noisy")
"""The synthetic sets that the paper describes."""
TOLERANCE = 0.03
"""Accuracy that may be lost and still count as little."""
AUROC = "probability that a label-indicative word has a larger attention score than a neutral one"


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each as a number above a threshold."""
    return [
        _small_scaling_hurts(results),
        *_moderate_scaling_claims(results),
        *_large_scaling_claims(results),
        *_alignment_claims(results),
    ]


def _gains(results: Results, model: ScaledModel, other: ScaledModel) -> dict[str, Shaped]:
    """Accuracy of the model - accuracy of the other, text by text, wherever both were measured."""
    own, others = model.measured(results, CORRECT), other.measured(results, CORRECT)
    return {
        data: paired(cell.columns[CORRECT], others[data].columns[CORRECT])
        for data, cell in own.items()
        if data in others
    }


def _auroc(cell: Cell) -> Values:
    return shares(cell, indicative, neutral)


def _small_scaling_hurts(results: Results) -> Claim:
    return test_claim(
        "small_scaling_hurts",
        "A small scaling factor hurts accuracy.",
        "section 5, Table 2",
        f"accuracy, lambda {MODERATE:g} - lambda {TINY:g}",
        _gains(results, DP_MODERATE, DP_TINY),
    )


def _moderate_scaling_claims(results: Results) -> list[Claim]:
    cells, planted = DP_MODERATE.recorded(results), DP_PLANTED.recorded(results)
    additive = {f"{data}, ad": cell for data, cell in AD_MODERATE.recorded(results).items()}
    return [
        test_claim(
            "indicative_words_score_higher",
            "With a moderate scaling factor, label-indicative words have larger attention scores than neutral ones.",
            "section 5, Figures 2 to 4",
            AUROC,
            {name: _auroc(cell) for name, cell in (cells | additive).items()},
            threshold=0.5,
        ),
        test_claim(
            "indicative_words_score_higher_planted",
            "On synthetic texts, trained by plain gradient descent, label-indicative words score higher, too.",
            "supplementary material",
            AUROC,
            {data: _auroc(planted[data]) for data in CLAIMED_ON if data in planted},
            threshold=0.5,
        ),
        test_claim(
            "indicative_words_weigh_more",
            "Within a text, label-indicative words have larger weights than neutral ones.",
            "section 5, Figure 5",
            "share of pairs of a label-indicative and a neutral word in which the first has the larger weight",
            {data: cell.columns[ABOVE] for data, cell in DP_MODERATE.measured(results, ABOVE).items()},
            threshold=0.5,
        ),
    ]


def _large_scaling_claims(results: Results) -> list[Claim]:
    cells = {data: cell for data, cell in DP_LARGE.recorded(results).items() if cell.classes == 2}
    gains = _gains(results, DP_LARGE, DP_MODERATE)
    return [
        test_claim(
            "favoured_label_scores_higher",
            "With a large scaling factor, words of the label that V.W favours score higher than words of the other.",
            "section 4.2, Figure 3",
            "probability that a word of the favoured label has the larger score",
            {data: split_shares(cell) for data, cell in cells.items()},
            threshold=0.5,
        ),
        test_claim(
            "other_label_below_neutral",
            "With a large scaling factor, words of the other label fall below the neutral words.",
            "section 5, Figure 3",
            "probability that a neutral word has a larger score than a word of the label that V.W disfavours",
            {data: sunken_shares(cell) for data, cell in cells.items()},
            threshold=0.5,
        ),
        test_claim(
            "large_scaling_keeps_accuracy",
            "A large scaling factor hardly costs accuracy.",
            "section 5, Table 2",
            f"{TOLERANCE} - the accuracy lost with lambda {LARGE:g} instead of {MODERATE:g}",
            {data: TOLERANCE + values for data, values in gains.items()},
        ),
    ]


def _alignment_claims(results: Results) -> list[Claim]:
    plain, kept_small = DP_LARGE.recorded(results), DP_KEPT_SMALL.recorded(results)
    both = [data for data in plain if data in kept_small]
    gains = _gains(results, DP_KEPT_SMALL, DP_LARGE)
    return [
        test_claim(
            "small_alignment_restores_scores",
            "Keeping V.W small in training brings label-indicative words back above the neutral ones.",
            "section 5, supplementary material",
            f"{AUROC}, with |V.W| in the loss - without, at lambda {LARGE:g}",
            {data: _auroc(kept_small[data]) - _auroc(plain[data]) for data in both},
        ),
        test_claim(
            "small_alignment_keeps_accuracy",
            "Keeping V.W small costs no accuracy.",
            "section 5",
            f"{TOLERANCE} - the accuracy lost with |V.W| in the loss",
            {data: TOLERANCE + values for data, values in gains.items()},
        ),
    ]
