"""Tests of attention; one name here is one choice of `--tests`."""

from heedful.battery import (
    adversarial_attention,
    adversarial_models,
    certificate,
    comprehensiveness_sufficiency,
    embedding_attack,
    embedding_noise,
    erase_one,
    erase_until_flip,
    gradient_agreement,
    least_weight,
    leave_one_out_agreement,
    mean_of_heads,
    permuted_weights,
    plausibility,
    prediction,
    ranking_agreement,
    redundancy,
    seeds,
    sensitivity,
    shape,
    sign,
    token_scores,
    uniform,
    uniform_retrained,
    word_substitution,
)
from heedful.battery.evidence import Context, Evidence, ItemWords
from heedful.battery.question import BatteryTest, Question
from heedful.schema import GROUPS

__all__ = ["BATTERY", "PAIRS", "QUESTIONS", "BatteryTest", "Context", "Evidence", "ItemWords", "Question"]

BATTERY: dict[str, BatteryTest] = {
    "prediction": prediction.TEST,
    "gradient_agreement": gradient_agreement.TEST,
    "leave_one_out_agreement": leave_one_out_agreement.TEST,
    "permutation": permuted_weights.TEST,
    "adversarial_attention": adversarial_attention.TEST,
    "same_mixture": least_weight.TEST,
    "erase_one": erase_one.TEST,
    "erase_until_flip": erase_until_flip.TEST,
    "comprehensiveness_sufficiency": comprehensiveness_sufficiency.TEST,
    "token_scores": token_scores.TEST,
    "sign": sign.TEST,
    "redundancy": redundancy.TEST,
    "mean_of_heads": mean_of_heads.TEST,
    "uniform": uniform.TEST,
    "embedding_noise": embedding_noise.TEST,
    "word_substitution": word_substitution.TEST,
    "certificate": certificate.TEST,
    "embedding_attack": embedding_attack.TEST,
    "sensitivity": sensitivity.TEST,
    "shape": shape.TEST,
    "ranking_agreement": ranking_agreement.TEST,
    "plausibility": plausibility.TEST,
}
"""In the order in which the verdict asks."""

PAIRS: dict[str, BatteryTest] = {"uniform_retrained": uniform_retrained.TEST, "seeds": seeds.TEST}
"""Tests that compare a model with others on the same texts: (its trace, the others' traces) -> Findings."""


QUESTIONS: tuple[Question, ...] = tuple(
    sorted(
        (
            *(question for test in (*BATTERY.values(), *PAIRS.values()) for question in test.questions),
            *adversarial_models.QUESTIONS,
        ),
        key=lambda question: [*GROUPS].index(question.group),
    )
)
"""All questions of the verdict, group by group, in the order in which they are shown."""
