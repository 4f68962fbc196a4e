"""Tests of attention; one name here is one choice of `--tests`."""

from collections.abc import Callable

from heedful.battery.adversarial_attention import adversary
from heedful.battery.certificate import certificate
from heedful.battery.comprehensiveness_sufficiency import rationale
from heedful.battery.embedding_attack import embedding_attack
from heedful.battery.embedding_noise import embedding_noise
from heedful.battery.erase_one import erase_one
from heedful.battery.erase_until_flip import erase_until_flip
from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import gradient_agreement
from heedful.battery.leave_one_out_agreement import leave_one_out_agreement
from heedful.battery.permutation import permutation
from heedful.battery.prediction import prediction
from heedful.battery.seeds import seeds
from heedful.battery.sensitivity import sensitivity
from heedful.battery.token_scores import token_scores
from heedful.battery.uniform import uniform
from heedful.battery.word_substitution import word_substitution
from heedful.types import Findings

__all__ = ["BATTERY", "DEEP", "NAMED", "PAIRS", "TESTS", "Evidence"]

BATTERY: dict[str, Callable[..., Findings]] = {
    "prediction": prediction,
    "gradient_agreement": gradient_agreement,
    "leave_one_out_agreement": leave_one_out_agreement,
    "permutation": permutation,
    "adversary": adversary,
    "erase_one": erase_one,
    "erase_until_flip": erase_until_flip,
    "uniform": uniform,
    "token_scores": token_scores,
    "embedding_noise": embedding_noise,
    "word_substitution": word_substitution,
    "certificate": certificate,
}

DEEP: dict[str, Callable[..., Findings]] = {
    "rationale": rationale,
    "embedding_attack": embedding_attack,
}
"""Tests that cost more than all of the battery: done where `--deep` asks for them, or where they are named."""

NAMED: dict[str, Callable[..., Findings]] = {"sensitivity": sensitivity}
"""Tests that are slow even on few texts: done only where they are named."""

TESTS = BATTERY | DEEP | NAMED
"""All that can be named."""

PAIRS: dict[str, Callable[..., Findings]] = {"seeds": seeds}
"""Tests that compare a model with others on the same texts: (its trace, the others' traces) -> Findings."""
