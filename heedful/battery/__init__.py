"""Tests of attention; one name here is one choice of `--tests`."""

from collections.abc import Callable

from heedful.battery.adversary import adversary
from heedful.battery.erase_one import erase_one
from heedful.battery.erase_until_flip import erase_until_flip
from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import gradient_agreement
from heedful.battery.leave_one_out_agreement import leave_one_out_agreement
from heedful.battery.permutation import permutation
from heedful.battery.prediction import prediction
from heedful.battery.seeds import seeds
from heedful.battery.uniform import uniform
from heedful.types import Findings

__all__ = ["BATTERY", "PAIRS", "Evidence"]

BATTERY: dict[str, Callable[..., Findings]] = {
    "prediction": prediction,
    "gradient_agreement": gradient_agreement,
    "leave_one_out_agreement": leave_one_out_agreement,
    "permutation": permutation,
    "adversary": adversary,
    "erase_one": erase_one,
    "erase_until_flip": erase_until_flip,
    "uniform": uniform,
}

PAIRS: dict[str, Callable[..., Findings]] = {"seeds": seeds}
"""Tests that compare a model with others on the same texts: (its trace, the others' traces) -> Findings."""
