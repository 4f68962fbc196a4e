"""What Sun and Lu (2020) say about their results, tested on recorded scores and audited weights."""

from heedful.battery.question import Values
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.sun_lu.columns import (
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
from heedful.papers.sun_lu.token_history import indicative, neutral, shares, split_shares, sunken_shares

CLAIMED_ON = ("planted", "planted-noisy")
"""The synthetic sets that the paper describes."""
ACCURACY, PROBABILITY = "accuracy", "probability"
LOST, AUROC_MARGIN, CHANCE = 0.02, 0.05, 0.5
"""Accuracy whose loss matters; a difference of probabilities that matters; the probability where there is none."""
AUROC = "probability that a label-indicative word has a larger attention score than a neutral one"

SMALL_SCALING = Claim(
    id="small_scaling_hurts",
    statement="A small scaling factor hurts accuracy.",
    quote="the test set results appear to be worse than the case when λ is set to a larger value",
    source="section 5, Table 2",
    measured=f"accuracy, lambda {MODERATE:g} - lambda {TINY:g}",
    unit=ACCURACY,
    margin=LOST,
)
SCORE_HIGHER = Claim(
    id="indicative_words_score_higher",
    statement="With a moderate scaling factor, label-indicative words have larger attention scores than neutral ones.",
    quote="both the positive and negative tokens generally have larger attention scores than the neutral tokens",
    source="section 5, Figures 2 to 4",
    measured=AUROC,
    unit=PROBABILITY,
    margin=AUROC_MARGIN,
    baseline=CHANCE,
)
SCORE_HIGHER_PLANTED = Claim(
    id="indicative_words_score_higher_planted",
    statement="On synthetic texts, trained by plain gradient descent, label-indicative words score higher, too.",
    quote="We also conducted analysis on synthetic datasets",
    source="section 5, note 7 (our reading: that they show the same; the results are in the supplementary material)",
    measured=AUROC,
    unit=PROBABILITY,
    margin=AUROC_MARGIN,
    baseline=CHANCE,
)
WEIGH_MORE = Claim(
    id="indicative_words_weigh_more",
    statement="Within a text, label-indicative words have larger weights than neutral ones.",
    quote="the polarity tokens are more likely to have larger attention weights than the neutral tokens",
    source="section 5, Figure 5 (of SST; ours: of all sets)",
    measured="share of pairs of a label-indicative and a neutral word in which the first has the larger weight",
    unit="share of pairs",
    margin=AUROC_MARGIN,
    baseline=CHANCE,
)
FAVOURED_LABEL = Claim(
    id="favoured_label_scores_higher",
    statement="With a large scaling factor, words of the label that V.W favours score higher than words of the other.",
    quote="a gap between the final attention scores of the positive tokens and negative tokens",
    source="section 4.2, Figure 3",
    measured="probability that a word of the favoured label has the larger score",
    unit=PROBABILITY,
    margin=AUROC_MARGIN,
    baseline=CHANCE,
)
OTHER_LABEL = Claim(
    id="other_label_below_neutral",
    statement="With a large scaling factor, words of the other label fall below the neutral words.",
    quote="the resulting attention scores for the positive tokens are smaller than those of the neutral (and negative)",
    source="section 5, Figure 3 (of SST; ours: of all sets with two labels)",
    measured="probability that a neutral word has a larger score than a word of the label that V.W disfavours",
    unit=PROBABILITY,
    margin=AUROC_MARGIN,
    baseline=CHANCE,
)
LARGE_SCALING = Claim(
    id="large_scaling_keeps_accuracy",
    statement="A large scaling factor hardly costs accuracy.",
    quote="does not seem to have a significant impact on the performance",
    source="section 5, Table 2",
    measured=f"accuracy, lambda {LARGE:g} - lambda {MODERATE:g}",
    unit=ACCURACY,
    margin=LOST,
    kind="no_less",
)
RESTORES_SCORES = Claim(
    id="small_alignment_restores_scores",
    statement="Keeping V.W small in training brings label-indicative words back above the neutral ones.",
    quote="will generally encourage the attention model to produce more interpretable attention scores",
    source="section 5",
    measured=f"{AUROC}, with |V.W| in the loss - without, at lambda {LARGE:g}",
    unit=PROBABILITY,
    margin=AUROC_MARGIN,
)
KEEPS_ACCURACY = Claim(
    id="small_alignment_keeps_accuracy",
    statement="Keeping V.W small costs no accuracy.",
    quote="we did not observe a significant improvement in test performance",
    source="section 5 (our reading: nothing is lost, either)",
    measured="accuracy, with |V.W| in the loss - without",
    unit=ACCURACY,
    margin=LOST,
    kind="no_less",
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    return [
        test_claim(SMALL_SCALING, _gains(results, DP_MODERATE, DP_TINY, reference=DP_MODERATE)),
        *_moderate_scaling_claims(results),
        *_large_scaling_claims(results),
        *_alignment_claims(results),
    ]


def _gains(results: Results, model: ScaledModel, other: ScaledModel, *, reference: ScaledModel) -> dict[str, Part]:
    """Accuracy of the model - accuracy of the other, text by text, wherever both were measured.

    Args:
        reference: the one that must have learnt its task; where the other has not, that is the effect.
    """
    own, others, references = (each.measured(results, CORRECT) for each in (model, other, reference))
    return {
        data: part_of(paired(cell.columns[CORRECT], others[data].columns[CORRECT]), references[data])
        for data, cell in own.items()
        if data in others
    }


def _auroc(cell: Cell) -> Values:
    return shares(cell, indicative, neutral)


def _moderate_scaling_claims(results: Results) -> list[Claim]:
    cells, planted = DP_MODERATE.recorded(results), DP_PLANTED.recorded(results)
    additive = {f"{data}, ad": cell for data, cell in AD_MODERATE.recorded(results).items()}
    weighed = DP_MODERATE.measured(results, ABOVE)
    return [
        test_claim(SCORE_HIGHER, {name: part_of(_auroc(cell), cell) for name, cell in (cells | additive).items()}),
        test_claim(
            SCORE_HIGHER_PLANTED,
            {data: part_of(_auroc(planted[data]), planted[data]) for data in CLAIMED_ON if data in planted},
        ),
        test_claim(WEIGH_MORE, {data: part_of(cell.columns[ABOVE], cell) for data, cell in weighed.items()}),
    ]


def _large_scaling_claims(results: Results) -> list[Claim]:
    cells = {data: cell for data, cell in DP_LARGE.recorded(results).items() if cell.classes == 2}
    return [
        test_claim(FAVOURED_LABEL, {data: part_of(split_shares(cell), cell) for data, cell in cells.items()}),
        test_claim(OTHER_LABEL, {data: part_of(sunken_shares(cell), cell) for data, cell in cells.items()}),
        test_claim(LARGE_SCALING, _gains(results, DP_LARGE, DP_MODERATE, reference=DP_MODERATE)),
    ]


def _alignment_claims(results: Results) -> list[Claim]:
    plain, kept_small = DP_LARGE.recorded(results), DP_KEPT_SMALL.recorded(results)
    restored = {
        data: part_of(paired(_auroc(cell), _auroc(plain[data])), cell, plain[data])
        for data, cell in kept_small.items()
        if data in plain
    }
    return [
        test_claim(RESTORES_SCORES, restored),
        test_claim(KEEPS_ACCURACY, _gains(results, DP_KEPT_SMALL, DP_LARGE, reference=DP_LARGE)),
    ]
