"""What is recorded of tokens during training: scores, flow, V . W, norms, products of embeddings."""

from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from itertools import combinations_with_replacement

import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.batching import EncodedSplit, read
from heedful.data.tokenizer import SPECIAL, WordTokenizer
from heedful.errors import SettingError
from heedful.models.abilities import own_linear
from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.token_scores.flow import flow, has_flow
from heedful.token_scores.scores import NEUTRAL, THREE_LABELS, global_scores, local_scores, token_classes, token_counts
from heedful.token_scores.token_view import affine_matrix, attention_direction, head_alignment, head_rows

SIZE = 64
"""Batch size when the model is run on the texts."""

NEUTRALS = "(neutral)"
"""Name of the neutral tokens among the labels; in parentheses, since a label may be called neutral."""


def measurements(
    model: AttentionModel, split: EncodedSplit, classes: Int[Tensor, " token"], labels: Sequence[str]
) -> dict[str, Float[Tensor, ""] | Float[Tensor, " token"]]:
    """Every measure by name: one number for the model, or one per token.

    Of the model: `V.W`, `norm_V`, `norm_W`; with an affine encoder also `V'.W'`, the same in the space of the
    embeddings; and `product[a,b]`, the mean dot product of the embeddings of a token of class a and one of class b;
    with an affine encoder also `product'[a,b]`, that of their states.
    Of each token: `polarity` and `attention`, the scores of the token as a text of its own; if the encoder reads
    context, also `polarity_local` and `attention_local`, the means over the split's texts; if `flow` covers the model,
    also its terms, `flow_A` to `flow_F`. What has one number per label (W and polarity, for more than two labels) is
    named `polarity[label]`.

    The model is left as it is. It is measured in evaluation mode, without dropout.

    Args:
        split: the training texts.
        classes: the class of each token, from `token_classes`.
        labels: the names of the labels.
    """
    copy = own_linear(deepcopy(model).double().eval())
    if copy is None:
        raise SettingError("polarity needs a linear head; this model's is not. Choose head 'linear'.")
    with torch.no_grad():
        rows_by_name = _directions(copy)
        for name, values in _token_values(copy, split).items():
            rows_by_name[name] = values[None] if values.dim() == 1 else values.T
        named = [pair for name, rows in rows_by_name.items() for pair in _by_label(name, rows, labels)]
        products = embedding_products(copy.word_vectors, classes, labels)
        if (matrix := affine_matrix(copy)) is not None:
            of_states = embedding_products(copy.word_vectors @ matrix.T, classes, labels)
            products |= {name.replace("product", "product'", 1): value for name, value in of_states.items()}
        return dict(named) | products


def embedding_products(
    embedded: Float[Tensor, "token embed"], classes: Int[Tensor, " token"], labels: Sequence[str]
) -> dict[str, Float[Tensor, ""]]:
    """The mean dot product of two different tokens, one of class a and one of class b, as `product[a,b]`.

    Classes are the labels and `(neutral)`; NaN if there are no two such tokens. Computed from the sum of each class's
    vectors, without listing the pairs.

    >>> embedded = torch.tensor([[1.0, 0.0], [3.0, 1.0], [0.0, 2.0]])
    >>> products = embedding_products(embedded, torch.tensor([0, 0, 1]), ("negative", "positive"))
    >>> products["product[negative,negative]"], products["product[negative,positive]"]  # 3, (0 + 2) / 2
    (tensor(3.), tensor(1.))
    """
    groups = {label: classes == number for number, label in enumerate(labels)} | {NEUTRALS: classes == NEUTRAL}
    sums = {name: embedded[members].sum(0) for name, members in groups.items()}
    counts = {name: int(members.sum()) for name, members in groups.items()}
    products = {}
    for a, b in combinations_with_replacement(groups, 2):
        total, pairs = sums[a] @ sums[b], counts[a] * counts[b]
        if a == b:  # a token is not paired with itself
            total, pairs = total - embedded[groups[a]].square().sum(), pairs - counts[a]
        products[f"product[{a},{b}]"] = total / pairs if pairs else total.new_tensor(torch.nan)
    return products


def _directions(model: AttentionModel) -> dict[str, Float[Tensor, " rows"]]:
    attention, head = attention_direction(model), head_rows(model)
    measures = {"V.W": head @ attention, "norm_V": attention.norm()[None], "norm_W": head.norm(dim=1)}
    matrix = affine_matrix(model)
    return measures if matrix is None else measures | {"V'.W'": (head @ matrix) @ (attention @ matrix)}


def _token_values(model: LinearAttentionModel, split: EncodedSplit) -> dict[str, Float[Tensor, "token *classes"]]:
    weight = model.word_vectors
    alone = global_scores(model, len(weight), framed=split.framed, device=weight.device)
    values = {"polarity": alone.polarity, "attention": alone.attention}
    if not getattr(model.encoder, "token_wise", False):
        means = local_scores(model, read(split, SIZE, weight.device), len(weight))
        values |= {"polarity_local": means.polarity, "attention_local": means.attention}
    if has_flow(model):
        values |= {f"flow_{letter}": term for letter, term in flow(model, split).by_letter().items()}
    return values


def _by_label(
    name: str, rows: Float[Tensor, "rows *token"], labels: Sequence[str]
) -> Iterator[tuple[str, Float[Tensor, "*token"]]]:
    """A single row under the name itself; several rows, one per label, under `name[label]`."""
    if len(rows) == 1:
        yield name, rows[0]
    else:
        yield from ((f"{name}[{label}]", row) for label, row in zip(labels, rows, strict=True))


# Token scores over the course of training, as a tidy table.

RECORD = pl.Schema({"epoch": pl.Int32, "token": pl.String, "measure": pl.String, "value": pl.Float64})


class Recorder:
    """Takes `measurements` of a model after chosen epochs and keeps them.

    Raises at once if the model has no direction of attention or no linear head.

    Args:
        split: the training texts.
        epochs: after which to measure; 0 is before training, "chosen" the one chosen in the end. If empty, nothing is
            computed.
    """

    def __init__(
        self,
        model: AttentionModel,
        split: EncodedSplit,
        words: WordTokenizer,
        labels: Sequence[str],
        epochs: Collection[int | str],
    ):
        self._model, self._split, self._labels, self._epochs = model, split, labels, epochs
        self._parts: list[pl.DataFrame] = []
        self._measured: set[int] = set()
        if epochs:
            head_alignment(model)
            self._words = words.words
            rule = THREE_LABELS if len(labels) > 2 else {}
            self._classes = token_classes(token_counts(split, words.size, len(labels)), **rule)

    def record(self, epoch: int, name: str | None = None) -> None:
        """Measure the model, if the epoch (or its name) is asked for and was not measured yet."""
        if (epoch if name is None else name) not in self._epochs or epoch in self._measured:
            return
        self._measured.add(epoch)
        measured = measurements(self._model, self._split, self._classes, self._labels)
        if not self._parts:
            measured = {"class": self._classes.double(), **measured}
        for measure, value in measured.items():
            is_per_token = value.dim() == 1
            values = value[len(SPECIAL) :].cpu().numpy() if is_per_token else [value.item()]
            tokens = self._words[len(SPECIAL) :] if is_per_token else [None]
            columns = {"epoch": epoch, "token": tokens, "measure": measure, "value": values}
            self._parts.append(pl.DataFrame(columns, schema=RECORD))

    @property
    def table(self) -> pl.DataFrame | None:
        """Columns epoch, token, measure, value; None if nothing was recorded.

        A measure of the whole model has a null token. `class` is the number of the label that the token indicates in
        the training texts, -1 for neutral and -2 for neither; it is recorded with the first epoch only. Special symbols
        are left out.
        """
        return pl.concat(self._parts) if self._parts else None
