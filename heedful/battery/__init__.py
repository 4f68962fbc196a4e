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
    leave_one_out_agreement,
    permutation,
    prediction,
    seeds,
    sensitivity,
    token_scores,
    uniform,
    uniform_retrained,
    word_substitution,
)
from heedful.battery.evidence import Context, Evidence
from heedful.battery.question import BatteryTest, Question

__all__ = ["BATTERY", "PAIRS", "QUESTIONS", "BatteryTest", "Context", "Evidence", "Question"]

BATTERY: dict[str, BatteryTest] = {
    "prediction": prediction.TEST,
    "gradient_agreement": gradient_agreement.TEST,
    "leave_one_out_agreement": leave_one_out_agreement.TEST,
    "permutation": permutation.TEST,
    "adversarial_attention": adversarial_attention.TEST,
    "erase_one": erase_one.TEST,
    "erase_until_flip": erase_until_flip.TEST,
    "token_scores": token_scores.TEST,
    "uniform": uniform.TEST,
    "embedding_noise": embedding_noise.TEST,
    "word_substitution": word_substitution.TEST,
    "certificate": certificate.TEST,
    "comprehensiveness_sufficiency": comprehensiveness_sufficiency.TEST,
    "embedding_attack": embedding_attack.TEST,
    "sensitivity": sensitivity.TEST,
}
"""In the order in which the verdict asks."""

PAIRS: dict[str, BatteryTest] = {"uniform_retrained": uniform_retrained.TEST, "seeds": seeds.TEST}
"""Tests that compare a model with others on the same texts: (its trace, the others' traces) -> Findings."""

QUESTIONS: tuple[Question, ...] = (
    *(question for test in BATTERY.values() for question in test.questions if test.cost == "default"),
    *(question for test in PAIRS.values() for question in test.questions),
    *adversarial_models.QUESTIONS,
    *(question for test in BATTERY.values() for question in test.questions if test.cost != "default"),
)
