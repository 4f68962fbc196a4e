"""Plain training that keeps attention from looking where the head does."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.token_scores.directions import head_alignment
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def alignment(
    model: Model, trace: Trace, reference: Reference | None, generator: torch.Generator, *, strength: float = 1e-4
) -> Float[Tensor, " batch"]:
    """-ln p(label) + strength x |V . W|, V being what attention looks for and W what the head does.

    With more than two labels the sum over W's rows. Where V . W is large, words of one label gain attention and those
    of the other lose it: term D of Sun and Lu (2020, section 4.2), who found attention more interpretable and accuracy
    the same with V . W kept small (section 5). Their code adds |V . W| once to the mean loss of a batch: that is
    `loss_sum = "mean"` and `class_weights = false`. It counts the same beside the labels where losses are summed.

    Needs additive attention, or dot attention without a query, and a linear head.
    """
    return vanilla(model, trace, reference, generator) + strength * head_alignment(model).abs().sum()


METHOD = Method(alignment)
