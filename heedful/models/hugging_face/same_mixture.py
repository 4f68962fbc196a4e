"""The least weight that words can have with exactly the same logits: a linear program for each head.

The row's context in a head is the mixture sum over tokens of weight x value. Weights that give the same mixture in
every head give the same logits exactly, whatever follows. Among these (special tokens keeping theirs) the least weight
of given words is a linear program. A head that mixes fewer tokens than its values have dimensions has, as a rule, no
other weights with the same mixture.
"""

from dataclasses import dataclass

import numpy
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import SettingError
from heedful.models.hugging_face.attention_view import EncodedTexts, TransformerModel
from heedful.models.hugging_face.single_row_decoder import RowState
from heedful.types import Encoded

RANK = 1e-10
"""Singular values below this share of the largest count as 0."""
AT_LIMIT = 1e-8
"""Weights below this are meant to be 0."""
ROUNDING = 1e-12
"""Weights may be negative by this much before they are cut to 0."""


@dataclass(frozen=True)
class LeastWeight:
    """The least weight of some words with the same mixture of values in every head.

    Args:
        weight: the share of the words' weight, on the mean over heads, that those words have at least.
        own: the share that they have.
        freedom: the mean over heads of the number of dimensions in which other weights give the same mixture.
        weights: what was found, of every token.
    """

    weight: Float[Tensor, " batch"]
    own: Float[Tensor, " batch"]
    freedom: Float[Tensor, " batch"]
    weights: tuple[Float[Tensor, "head _"], ...]


@torch.no_grad()
def least_weight(model: TransformerModel, encoded: Encoded, words: Bool[Tensor, "batch item"]) -> LeastWeight:
    """The least share of the words' weight that the given words can have with exactly the same logits.

    Raises:
        SettingError: where the model has no one-row decoder at this site and scope, so that there is no such mixture.
    """
    if model.one_row is None or not isinstance(encoded, EncodedTexts):
        raise SettingError(
            "least_weight needs a classifier that reads one row, at a site in the last layer and scope 'row'; this is "
            f"{model.classifier.name} at site '{model.site}', scope '{model.scope}'."
        )
    batch = len(words)
    columns = {name: torch.zeros(batch, dtype=torch.float64) for name in ("weight", "own", "freedom")}
    tokens: list[Float[Tensor, "head _"]] = [torch.empty(0, 0)] * batch
    for part in encoded.parts:
        assert part.state is not None
        for place, text in enumerate(part.texts.tolist()):
            state = part.state.select(torch.tensor([place], device=part.texts.device))
            least, freedom = _least_of_text(state, words[text])
            total = _share(least, state, torch.ones_like(words[text]))
            columns["weight"][text] = _share(least, state, words[text]) / total
            columns["own"][text] = _share(state.weights[0], state, words[text]) / total
            columns["freedom"][text] = freedom
            tokens[text] = least.cpu()
    return LeastWeight(**columns, weights=tuple(tokens))


def _share(weights: Float[Tensor, "head time"], state: RowState, words: Bool[Tensor, " item"]) -> float:
    """The weight of the given words, summed over heads."""
    return float(weights[:, _tokens_of(state.word_ids[0], words)].sum())


def _tokens_of(word_ids: Int[Tensor, " time"], words: Bool[Tensor, " item"]) -> Bool[Tensor, " time"]:
    return words[word_ids.clamp_min(0)] & (word_ids >= 0)


def _least_of_text(state: RowState, words: Bool[Tensor, " item"]) -> tuple[Float[Tensor, "head time"], float]:
    """The weights of every head, and the mean number of dimensions in which they are free."""
    free = (state.word_ids[0] >= 0).cpu().numpy()
    cost = _tokens_of(state.word_ids[0], words).double().cpu().numpy()[free]
    weights = state.weights[0].clone()
    freedom = 0
    for head in range(len(weights)):
        own = weights[head].cpu().numpy()[free]
        values = state.values[0, head].cpu().numpy()[free]
        least, dimensions = least_of_head(own, values, cost)
        weights[head, torch.from_numpy(free)] = torch.from_numpy(least).to(weights)
        freedom += dimensions
    return weights, freedom / len(weights)


def least_of_head(
    own: Float[numpy.ndarray, " token"],
    values: Float[numpy.ndarray, "token size"],
    cost: Float[numpy.ndarray, " token"],
) -> tuple[Float[numpy.ndarray, " token"], int]:
    """Weights of least cost with the same sum and the same mixture of values, and in how many dimensions they vary.

    >>> own, values = numpy.array([0.5, 0.25, 0.25]), numpy.array([[0.0], [1.0], [-1.0]])
    >>> least, free = least_of_head(own, values, numpy.array([1.0, 0.0, 0.0]))
    >>> least.round(9), free  # the mixture, 0, needs no weight on the first
    (array([0. , 0.5, 0.5]), 1)
    """
    mixing = numpy.concatenate([values.T, numpy.ones((1, len(own)))])
    # Rows of the same length, so that none is lost to rounding next to a longer one.
    scale = numpy.linalg.norm(mixing, axis=1, keepdims=True)
    mixing = mixing / numpy.where(scale > 0, scale, 1.0)
    _, sizes, directions = numpy.linalg.svd(mixing)
    rank = int((sizes > RANK * sizes[0]).sum())
    if rank == len(own) or not cost.any():
        return own, len(own) - rank
    free = directions[rank:]
    return _moved_along(own, free, cost), len(own) - rank


def _moved_along(
    own: Float[numpy.ndarray, " token"], free: Float[numpy.ndarray, "way token"], cost: Float[numpy.ndarray, " token"]
) -> Float[numpy.ndarray, " token"]:
    """The weights of least cost that differ from the model's own by a sum of the free directions, up to rounding.

    A linear program over how far to go along each direction, such that no weight turns negative.
    """
    # Imported here because it is slow to import.
    from scipy.optimize import linprog

    result = linprog(free @ cost, A_ub=-free.T, b_ub=own, bounds=(None, None), method="highs")
    if not result.success:
        return own
    moved = own + result.x @ free
    # The solver keeps its limits to 1e-7 or so: weights that should be 0 are made so along the free directions.
    at_limit = moved < AT_LIMIT
    moved = moved + numpy.linalg.lstsq(free[:, at_limit].T, -moved[at_limit], rcond=None)[0] @ free
    return moved.clip(0.0) if moved.min() >= -ROUNDING else own
