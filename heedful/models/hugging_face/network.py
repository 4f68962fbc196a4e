"""A Hugging Face classifier as a function of tokens and embeddings, whose attention calls can be heard and changed."""

from collections.abc import Callable
from contextlib import ExitStack
from copy import copy, deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.hugging_face import attention_hooks
from heedful.models.hugging_face.attention_hooks import (
    AttentionHook,
    CallContext,
    CallValues,
    CallWeights,
    SoftmaxMode,
    hook_attention,
)
from heedful.models.hugging_face.model_files import HuggingFaceModel

Transport = Literal["interface", "softmax"]
"""How attention is heard: through transformers' attention interface, or at its softmax."""

NO_PADDING = -1
"""Stands in for the padding token of a model that has none: no token has this number."""


@dataclass(frozen=True)
class Inputs:
    """What a network reads.

    Args:
        tokens: id + vocabulary size x segment of each token: the second text of a pair is segment 1.
        embedded: the vector of each token, in place of the model's own.
    """

    tokens: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"]
    embedded: Float[Tensor, "batch time embed"] | None = None

    def select(self, rows: Int[Tensor, " some"]) -> "Inputs":
        """These rows, without the padding that only others need."""
        mask = self.mask[rows]
        longest = int(mask.sum(1).max())
        embedded = None if self.embedded is None else self.embedded[rows, :longest]
        return Inputs(self.tokens[rows, :longest], mask[:, :longest], embedded)


class Network:
    """A classifier that shares the weights of the given one, and changes nothing in it.

    Args:
        reads_segments: whether its tokenizer numbers the texts of a pair; some models that could read the numbers were
            trained without.
        transport: None: the attention interface where the model file knows it, else the softmax.
    """

    def __init__(self, module: HuggingFaceModel, *, reads_segments: bool, transport: Transport | None = None):
        self.module = shared_copy(module).eval()
        config: Any = self.module.config
        self.classes: int = config.num_labels
        self.has_padding = config.pad_token_id is not None
        if not self.has_padding:
            config.pad_token_id = NO_PADDING
        # Through the attention interface, if the model file reads from it which attention to use.
        known: Transport = "interface" if self.module._can_set_attn_implementation() else "softmax"
        self.transport: Transport = transport or known
        if self.transport == "interface":
            attention_hooks.register()
            self.module.set_attn_implementation(attention_hooks.NAME)
        else:
            config._attn_implementation = "eager"
        self.embedding = input_embedding(self.module)
        self._tables = [
            part
            for part in self.module.modules()
            if isinstance(part, nn.Embedding) and part.weight is self.embedding.weight
        ]
        accepts = signature(self.module.forward).parameters
        self._reads_segments = reads_segments and "token_type_ids" in accepts
        self._caches = "use_cache" in accepts

    def around(self, module: HuggingFaceModel) -> "Network":
        """The same way to run another module of the same kind, whose token embeddings count for nothing."""
        other = copy(self)
        other.module, other._tables = module, []
        return other

    @property
    def dtype(self) -> torch.dtype:
        """What the network computes in."""
        return self.embedding.weight.dtype

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.embedding.weight.device

    @property
    def vocabulary(self) -> int:
        """How many token ids there are."""
        return self.embedding.num_embeddings

    def embed(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time embed"]:
        """The vector of each token, before positions and segments are added."""
        return self._tables[0](tokens % self.vocabulary)

    def logits(self, inputs: Inputs, listener: AttentionHook | None = None) -> Float[Tensor, "batch classes"]:
        """The logits of the network, with its attention as changed by the hook."""
        arguments = self.arguments(inputs)
        with ExitStack() as stack:
            if inputs.embedded is not None:
                embedded = _embedded_as(arguments["input_ids"], inputs.embedded)
                for table in self._tables:
                    stack.enter_context(table.register_forward_hook(embedded))
            if listener is not None:
                hearing = stack.enter_context(hook_attention(listener))
                if self.transport == "softmax":
                    stack.enter_context(SoftmaxMode(hearing))
            return self.module(**arguments).logits

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """The inputs as the module's own arguments."""
        padding = self.module.config.pad_token_id if self.has_padding else 0
        arguments: dict[str, Any] = {
            "input_ids": (inputs.tokens % self.vocabulary).where(inputs.mask, padding),
            "attention_mask": inputs.mask.long(),
        }
        if self._reads_segments:
            arguments["token_type_ids"] = (inputs.tokens // self.vocabulary).where(inputs.mask, 0)
        if self._caches:
            arguments["use_cache"] = False
        return arguments


def shared_copy(module: HuggingFaceModel) -> HuggingFaceModel:
    """A copy with its own structure and settings, which shares the memory of the weights; these are its constants."""
    weights = {id(tensor): nn.Parameter(tensor.detach(), requires_grad=False) for tensor in module.parameters()}
    return deepcopy(module, weights | {id(tensor): tensor for tensor in module.buffers()})


def input_embedding(module: HuggingFaceModel) -> nn.Embedding:
    """The table of token embeddings."""
    try:
        embedding = module.get_input_embeddings()
    except NotImplementedError:
        embedding = None
    if not isinstance(embedding, nn.Embedding):
        raise SettingError(
            f"model must have a table of token embeddings; {type(module).__name__} has none, so its words cannot be "
            "perturbed or attributed to. Choose a model that reads tokens."
        )
    return embedding


def _embedded_as(
    ids: Int[Tensor, "batch time"], embedded: Float[Tensor, "batch time embed"]
) -> Callable[[nn.Module, tuple[Any, ...], Tensor], Tensor]:
    """A hook by which a table returns these vectors for these ids, wherever the model looks them up."""

    def replaced(table: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        (looked_up,) = arguments
        new = embedded.to(output.dtype)
        if torch.equal(looked_up, ids):
            return new
        if torch.equal(looked_up, ids.T):
            return new.transpose(0, 1)
        # The decoder of an encoder-decoder model reads the same tokens one place later, after a start symbol.
        if looked_up.shape == ids.shape and torch.equal(looked_up[:, 1:], ids[:, :-1]):
            return torch.cat([output[:, :1], new[:, :-1]], 1)
        return output

    return replaced


# The output projection of an attention call, found by what it is applied to.


class _LastContext(AttentionHook):
    """Keeps what the last call mixes, with the heads of each row side by side."""

    def __init__(self, call: int):
        self.call = call
        self.context_of_rows: Tensor | None = None

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        if call == self.call:
            self.context_of_rows = (weights.to(values.dtype) @ values).transpose(1, 2).flatten(2)
        return None


@torch.no_grad()
def output_projection(network: Network, text: Inputs, call: int) -> nn.Module:
    """The linear layer that the heads' mixtures pass through after that attention call.

    Raises:
        SettingError: if no softmax of the model can be recognized, for example because something else is mixed in.
    """
    listener, applied = _LastContext(call), []

    def keep(module: nn.Module, arguments: tuple[object, ...]) -> None:
        mixed = listener.context_of_rows
        given = arguments[0] if arguments else None
        if not isinstance(given, Tensor) or mixed is None or given.shape != mixed.shape:
            return
        if torch.allclose(given, mixed, rtol=1e-5, atol=1e-7):
            applied.append(module)

    # GPT-2 and its like have linear layers of their own kind.
    layers = [
        part for part in network.module.modules() if isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D"
    ]
    with ExitStack() as hooks:
        for part in layers:
            hooks.enter_context(part.register_forward_pre_hook(keep))
        network.logits(text, listener)
    if not applied:
        raise SettingError(
            f"site 'value-norm' needs the projection that follows attention; {type(network.module).__name__} has none "
            "that could be found. Choose last, layer:N, head:N.M, rollout or all."
        )
    return applied[0]
