"""Plain training with a penalty on the alignment of attention and head."""

from jaxtyping import Float
from torch import Tensor

from heedful.token_scores.token_view import affine_matrix, attention_direction, head_alignment, head_rows
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import vanilla


def alignment(step: Step, *, strength: float = 1e-4, of_embeddings: bool = False) -> Float[Tensor, " batch"]:
    """-ln p(label) + strength x |V . W|, where V and W are the directions of attention and of the head.

    With more than two labels, the sum over W's rows. Where V . W is large, words of one label gain attention and those
    of the other lose it: term D of Sun and Lu (2020, section 4.2), who report more interpretable attention at the same
    accuracy when V . W is kept small (section 5). Their code adds |V . W| once to the mean loss of a batch: that is
    `loss_sum = "mean"` and `class_weights = false`. With summed losses its weight relative to the labels is the same.

    Requires additive attention, or dot attention without a query, and a linear head.

    Args:
        of_embeddings: with an affine encoder M, penalize V' . W' instead, where V' = M'V and W' = M'W.
    """
    matrix = affine_matrix(step.model) if of_embeddings else None
    if matrix is None:
        return vanilla(step) + strength * head_alignment(step.model).abs().sum()
    products = (head_rows(step.model) @ matrix) @ (attention_direction(step.model) @ matrix)
    return vanilla(step) + strength * products.abs().sum()


METHOD = Method(alignment)
