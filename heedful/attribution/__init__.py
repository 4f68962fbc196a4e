"""How much each item matters to a prediction: by gradients, and by leaving it out."""

from heedful.attribution.gradient import input_gradient, input_gradients, signed_input_gradient, weight_gradient
from heedful.attribution.leave_one_out import leave_one_out
from heedful.attribution.subsets import logits_of_subsets, logits_with_zeroed_words

__all__ = [
    "input_gradient",
    "input_gradients",
    "leave_one_out",
    "logits_of_subsets",
    "logits_with_zeroed_words",
    "signed_input_gradient",
    "weight_gradient",
]
