"""The one-row decoder: where the classifier reads one row, another attention costs one token through the last block.

The row's context is affine in its weights, u = special + sum over words of weight x value in each head, and everything
afterwards (projection, norms, feed-forward, pooler, classifier) acts on that row alone. So the values of the last layer
and the row that enters it are kept, and for each other attention a single token is sent through the last block.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from heedful.models.hugging_face.attention_hooks import AttentionHook, CallContext, CallValues, CallWeights
from heedful.models.hugging_face.interventions import Intervention, Reading
from heedful.models.hugging_face.model_files import HuggingFaceModel
from heedful.models.hugging_face.network import Inputs, Network, input_embedding, shared_copy
from heedful.models.hugging_face.structure import ModelStructure, blocks_of


@dataclass(frozen=True)
class RowState:
    """Of each text, all that the last block needs to send its row on under any attention.

    Args:
        weights: what the row gives to each token.
        values: values of each token.
        owner: index of the word that each token belongs to; -1 for special tokens and padding.
        count: how many words the longest text has.
        entering: the row as it enters the last block.
        earlier: the row's context in each other attention call of the last block (a decoder's self-attention).
        token: the row's own.
    """

    weights: Float[Tensor, "batch head time"]
    values: Float[Tensor, "batch head time size"]
    word_ids: Int[Tensor, "batch time"]
    count: int
    entering: Float[Tensor, "batch hidden"]
    earlier: tuple[Float[Tensor, "batch _ _"], ...]
    token: Int[Tensor, " batch"]

    @cached_property
    def held(self) -> "RowState":
        """The same with its weights as constants, of which no derivative is taken."""
        return replace(self, weights=self.weights.detach())

    @cached_property
    def words(self) -> Float[Tensor, "batch head item"]:
        """What the row gives to each word: the sum over its pieces."""
        return self._summed(self.weights)

    @cached_property
    def word_values(self) -> Float[Tensor, "batch head item size"]:
        """The value of each word: the mean over its pieces by their weights; over all alike where these have none."""
        pieces = self._summed(torch.ones_like(self.weights))
        place = self.word_ids.clamp_min(0)[:, None].expand_as(self.weights)
        whole, size = self.words.gather(2, place), pieces.gather(2, place)
        share = torch.where(whole > 0, self.weights / whole.where(whole > 0, 1.0), 1 / size)
        index = self._columns[..., None].expand_as(self.values)
        empty = self.values.new_zeros(*self.weights.shape[:2], self.count + 1, self.values.shape[3])
        return empty.scatter_add(2, index, share[..., None] * self.values)[:, :, :-1]

    @cached_property
    def special(self) -> Float[Tensor, "batch head time"]:
        """What the row gives to the special tokens; 0 for others."""
        return self.weights.where((self.word_ids < 0)[:, None], 0.0)

    @cached_property
    def special_context(self) -> Float[Tensor, "batch head size"]:
        """What the special tokens add to the row's context."""
        return (self.special[:, :, None] @ self.values)[:, :, 0]

    def select(self, texts: Int[Tensor, " some"]) -> "RowState":
        """The state of these texts."""
        names = ("weights", "values", "word_ids", "entering", "token")
        parts = {name: getattr(self, name)[texts] for name in names}
        return RowState(**parts, count=self.count, earlier=tuple(part[texts] for part in self.earlier))

    def context(self, change: Intervention) -> Float[Tensor, "variant head size"]:
        """What is mixed into the row when the weights of its words are changed so.

        Args:
            change: change of each text, or several per text: those of the first text come first.
        """
        batch, several = len(self.words), len(change.factor) // len(self.words)
        changed, is_left = change.apply(self.words.repeat_interleave(several, 0)[:, :, None])
        weights = changed[:, :, 0].unflatten(0, (batch, several))
        mixed = torch.einsum("bvhi,bhid->bvhd", weights, self.word_values).flatten(0, 1)
        mass = self.special.sum(-1)
        freed = 1 + self.words.sum(-1) / mass.where(mass > 0, 1.0)
        kept = torch.where(is_left[:, :, 0, 0], 1.0, freed.repeat_interleave(several, 0))
        return mixed + kept[..., None] * self.special_context.repeat_interleave(several, 0)

    @property
    def _columns(self) -> Int[Tensor, "batch head time"]:
        """The word of each token; an extra last one for what belongs to none."""
        return self.word_ids.where(self.word_ids >= 0, self.count)[:, None].expand_as(self.weights)

    def _summed(self, values: Float[Tensor, "batch head time"]) -> Float[Tensor, "batch head item"]:
        sums = values.new_zeros(*values.shape[:2], self.count + 1)
        return sums.scatter_add(2, self._columns, values)[:, :, :-1]


class RowRecorder(AttentionHook):
    """A listener that keeps the row's state, where it also hears the row enter the last block."""

    def __init__(self, anatomy: ModelStructure, reading: Reading):
        assert reading.rows is not None
        self.anatomy, self.reading, self.rows = anatomy, reading, reading.rows
        self.entering: Tensor | None = None
        self.earlier: list[Tensor] = []
        self.weights_of_row: Tensor | None = None
        self.values: Tensor | None = None

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        """Nothing; the weights of the row and the values are kept."""
        if call in self.anatomy.last_block:
            row, values = self.reading.of_rows(weights), values.double()
            if call < self.anatomy.layers - 1:
                self.earlier.append((row[:, :, None] @ values)[:, :, 0])
            else:
                self.weights_of_row, self.values = row, values
        return None

    def state(self, tokens: Int[Tensor, "batch time"]) -> RowState:
        """What was kept."""
        weights, values, entering = self.weights_of_row, self.values, self.entering
        assert weights is not None and values is not None and entering is not None
        return RowState(
            weights=weights,
            values=values,
            word_ids=self.reading.word_ids,
            count=self.reading.items.shape[1],
            entering=entering[torch.arange(len(entering)), self.rows].double(),
            earlier=tuple(self.earlier),
            token=tokens.gather(1, self.rows[:, None])[:, 0],
        )


class _Injecting(AttentionHook):
    """A hook that replaces what the calls of the last block mix with given contexts."""

    def __init__(self, contexts: tuple[Float[Tensor, "batch _ _"], ...]):
        self.contexts = contexts

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        return self.contexts[call][:, :, None].to(values.dtype)


class SingleRowDecoder:
    """The last block and what follows it, for one token a text, in any precision."""

    def __init__(self, network: Network, anatomy: ModelStructure, dtype: torch.dtype):
        self.block = blocks_of(network.module)[anatomy.calls[-1].block]
        self.time_first = anatomy.is_time_first
        tail = deepcopy(_only_last_block(network, anatomy))
        tail.to(dtype)  # pyright: ignore[reportArgumentType]
        self.dtype, self.network = dtype, network.around(tail)
        (self.tail_block,) = [part for name, part in blocks_of(tail).items() if _list_of(name) == _list_name(anatomy)]

    def hearing_rows(self, recorder: RowRecorder) -> RemovableHandle:
        """Let the recorder hear what enters the last block of the whole model, until the block of code ends."""

        def keep(block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            entering = arguments[0] if arguments else named["hidden_states"]
            recorder.entering = entering.transpose(0, 1) if self.time_first else entering

        return self.block.register_forward_pre_hook(keep, with_kwargs=True)

    def logits(self, state: RowState, change: Intervention) -> Float[Tensor, "variant classes"]:
        """The logits of the network when the weights of the row's words are changed so.

        Args:
            change: change of each text, or several per text: those of the first text come first.
        """
        return self.logits_of(state, state.context(change))

    def logits_of(
        self, state: RowState, context: Float[Tensor, "variant head size"]
    ) -> Float[Tensor, "variant classes"]:
        """The logits of the network when this context is mixed into the row."""
        several = len(context) // len(state.token)
        contexts = (*(part.repeat_interleave(several, 0) for part in state.earlier), context)
        entering = state.entering.to(self.dtype).repeat_interleave(several, 0)[:, None]
        entering = entering.transpose(0, 1) if self.time_first else entering

        def enter(block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]):
            if arguments:
                return (entering, *arguments[1:]), named
            return arguments, {**named, "hidden_states": entering}

        tokens = state.token.repeat_interleave(several)[:, None]
        inputs = Inputs(tokens, torch.ones_like(tokens, dtype=torch.bool))
        with self.tail_block.register_forward_pre_hook(enter, with_kwargs=True):
            return self.network.logits(inputs, _Injecting(contexts)).double()


class _Blank(nn.Module):
    """Replaces a table of token embeddings, since the block's input is set directly."""

    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size), requires_grad=False)

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time embed"]:
        """Zeros."""
        return self.weight.expand(*tokens.shape, -1)


def _only_last_block(network: Network, anatomy: ModelStructure) -> HuggingFaceModel:
    """A copy, sharing its weights, with the last block alone and no token embeddings."""
    tail, last = shared_copy(network.module), anatomy.calls[-1].block
    kept = blocks_of(tail)[last]
    for name in {_list_of(call.block) for call in anatomy.calls}:
        blocks = nn.ModuleList([kept]) if name == _list_name(anatomy) else nn.ModuleList()
        _replace(tail, name, blocks)
    table = input_embedding(tail).weight
    for name, part in list(tail.named_modules()):
        if isinstance(part, nn.Embedding) and part.weight is table:
            _replace(tail, name, _Blank(part.embedding_dim).to(table.device))
    # Some models enter their only block as many times as this says.
    tail.config.num_hidden_layers = 1
    return tail


def _list_of(block: str) -> str:
    return block.rpartition(".")[0]


def _list_name(anatomy: ModelStructure) -> str:
    return _list_of(anatomy.calls[-1].block)


def _replace(module: nn.Module, name: str, part: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(module.get_submodule(parent), own, part)
