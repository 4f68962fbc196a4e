"""What is worth recording of tokens along training: scores, flow, V . W, norms, products of embeddings."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import combinations_with_replacement

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.batching import EncodedSplit, read
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.token_scores.classes import NEUTRAL
from heedful.token_scores.directions import affine_matrix, attention_direction, head_rows
from heedful.token_scores.flow import flow, has_flow
from heedful.token_scores.scores import global_scores, local_scores

SIZE = 64
"""Texts a batch when the model is run on them."""

NEUTRALS = "(neutral)"
"""What the neutral tokens are called among the labels, of which one may well be named neutral."""


def measurements(
    model: AttentionModel, split: EncodedSplit, classes: Int[Tensor, " token"], labels: Sequence[str]
) -> dict[str, Float[Tensor, ""] | Float[Tensor, " token"]]:
    """Every measure by its name: one number, or one a token.

    Of the model: `V.W`, `norm_V`, `norm_W`, with an affine encoder `V'.W'`, the same as the embeddings see it, and
    `product[a,b]`, the mean dot product of the embeddings of two tokens, of class a and of class b. Of each token:
    `polarity` and `attention`, those of the token alone; where the encoder reads context also `polarity_local` and
    `attention_local`, the means over the split's texts; where `flow` covers the model its terms, `flow_A` to `flow_F`.
    What has one number a label (W and polarity, for more than two labels) is named `polarity[label]`.

    The model is left as it is, whichever mode it is in: dropout plays no part.

    Args:
        split: the training texts.
        classes: of each token, as `token_classes` says.
        labels: their names.
    """
    still = deepcopy(model).double().eval()
    if not isinstance(still, LinearAttentionModel):
        raise SettingError("polarity needs a linear head; this model's is not. Choose head 'linear'.")
    with torch.no_grad():
        found = _directions(still)
        for name, values in _token_values(still, split).items():
            found[name] = values[None] if values.dim() == 1 else values.T
        named = [pair for name, rows in found.items() for pair in _by_label(name, rows, labels)]
        return dict(named) | embedding_products(still.embedding.weight, classes, labels)


def embedding_products(
    embedded: Float[Tensor, "token embed"], classes: Int[Tensor, " token"], labels: Sequence[str]
) -> dict[str, Float[Tensor, ""]]:
    """The mean dot product of two different tokens, one of class a and one of class b, as `product[a,b]`.

    Classes are the labels and `(neutral)`; NaN where there are no two such tokens. From the sum of each class's
    vectors, so without listing the pairs.

    >>> embedded = torch.tensor([[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]])
    >>> found = embedding_products(embedded, torch.tensor([0, 0, 1]), ("negative", "positive"))
    >>> found["product[negative,negative]"], found["product[negative,positive]"]  # 3, (0 + 2) / 2
    (tensor(3.), tensor(1.))
    """
    groups = {label: classes == number for number, label in enumerate(labels)} | {NEUTRALS: classes == NEUTRAL}
    sums = {name: embedded[members].sum(0) for name, members in groups.items()}
    counts = {name: int(members.sum()) for name, members in groups.items()}
    products = {}
    for one, other in combinations_with_replacement(groups, 2):
        total, pairs = sums[one] @ sums[other], counts[one] * counts[other]
        if one == other:
            total, pairs = total - embedded[groups[one]].square().sum(), pairs - counts[one]
        products[f"product[{one},{other}]"] = total / pairs if pairs else total.new_tensor(torch.nan)
    return products


def _directions(model: AttentionModel) -> dict[str, Float[Tensor, " rows"]]:
    attention, head = attention_direction(model), head_rows(model)
    found = {"V.W": head @ attention, "norm_V": attention.norm()[None], "norm_W": head.norm(dim=1)}
    matrix = affine_matrix(model)
    return found if matrix is None else found | {"V'.W'": (head @ matrix) @ (attention @ matrix)}


def _token_values(model: LinearAttentionModel, split: EncodedSplit) -> dict[str, Float[Tensor, "token *classes"]]:
    weight = model.embedding.weight
    alone = global_scores(model, len(weight), framed=split.framed, device=weight.device)
    found = {"polarity": alone.polarity, "attention": alone.attention}
    if not getattr(model.encoder, "token_wise", False):
        means = local_scores(model, read(split, SIZE, weight.device), len(weight))
        found |= {"polarity_local": means.polarity, "attention_local": means.attention}
    if has_flow(model):
        found |= {f"flow_{letter}": term for letter, term in flow(model, split).by_letter().items()}
    return found


def _by_label(
    name: str, rows: Float[Tensor, "rows *token"], labels: Sequence[str]
) -> Iterator[tuple[str, Float[Tensor, "*token"]]]:
    """The row under that name, or where there is one a label each under its label's."""
    if len(rows) == 1:
        yield name, rows[0]
    else:
        yield from ((f"{name}[{label}]", row) for label, row in zip(labels, rows, strict=True))
