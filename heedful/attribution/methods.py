"""Attribution methods that people know by name, to be tested beside attention; each is a choice of `--rankings`."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.integrated_gradients import integrated_gradients
from heedful.attribution.lime import lime
from heedful.attribution.other_sites import rollout, value_norm
from heedful.attribution.shap import shap
from heedful.attribution.smoothgrad import smoothgrad
from heedful.types import Model, Trace

Attribution = Callable[[Model, Trace, torch.Generator], Float[Tensor, "batch item"]]

ATTRIBUTIONS: dict[str, Attribution] = {
    "integrated_gradients": lambda model, trace, generator: integrated_gradients(model, trace),
    "smoothgrad": smoothgrad,
    "lime": lime,
    "shap": shap,
    "rollout": lambda model, trace, generator: rollout(model, trace),
    "value_norm": lambda model, trace, generator: value_norm(model, trace),
}
"""From a model, what it made of a batch and a generator to a signed score of each item, 0 where there is none.

Every audit tests attention, attention x gradient, gradient x input and leave-one-out. Only Hugging Face models have
`rollout` and `value_norm`.
"""
