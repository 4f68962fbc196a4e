"""What two short texts show of a network: its layers, the rows that its classifier reads, what it makes of padding."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.hugging_face.attention_hooks import AttentionHook, CallWeights
from heedful.models.hugging_face.network import Inputs, Network

TOO_LOUD = 10.0
"""Size of the vectors that replace padding, so that any influence shows."""


@dataclass(frozen=True)
class Call:
    """An attention call of the network: a layer, or half of one in a decoder that also reads an encoder.

    Args:
        block: the name of the module, one of a list of like ones, in which it is made.
        visit: how many blocks were entered before that one: some models enter the same block again and again.
        is_over_tokens: whether it weighs the tokens of the text, each once.
    """

    heads: int
    block: str
    visit: int
    is_over_tokens: bool


@dataclass(frozen=True)
class ReadRows:
    """Which rows of the last attention call the classifier reads: one of each text, or several.

    Args:
        place: position of the one row: from the start of the text, or, if negative, from its end; None: several rows.
    """

    place: int | None

    def of(self, mask: Bool[Tensor, "batch time"]) -> Int[Tensor, " batch"] | None:
        """The one row of each text; None if there are several."""
        if self.place is None:
            return None
        count = mask.sum(1)
        return count + self.place if self.place < 0 else torch.full_like(count, self.place)


@dataclass(frozen=True)
class ModelStructure:
    """What was found out.

    Args:
        padding_is_ignored: whether a text's logits stay what they are next to longer texts; if not, only texts of
            the same length are run together.
        is_time_first: whether the last block takes time before batch.
    """

    calls: tuple[Call, ...]
    rows: ReadRows
    padding_is_ignored: bool
    is_time_first: bool

    @property
    def layers(self) -> int:
        """How many attention calls there are."""
        return len(self.calls)

    @property
    def last_block(self) -> range:
        """The calls that are made when the last block is entered for the last time."""
        first = next(number for number, call in enumerate(self.calls) if call.visit == self.calls[-1].visit)
        return range(first, len(self.calls))


def inspect_structure(network: Network, longer: Inputs, shorter: Inputs) -> ModelStructure:
    """What running the network on two single texts of different length shows.

    Raises:
        SettingError: where attention is not a distribution over the tokens of the text.
    """
    heard, time = _heard(network, longer), longer.tokens.shape[1]
    calls = _calls(network, heard, time)
    rows = [_read_rows(network, text, len(calls) - 1) for text in (longer, shorter)]
    is_time_first = heard.entering[0] == time and heard.entering[0] > 1
    return ModelStructure(
        calls, _rule(rows, (longer, shorter)), _ignores_padding(network, longer, shorter), is_time_first
    )


def check_rows(network: Network, anatomy: ModelStructure, inputs: Inputs) -> None:
    """Raise unless the classifier reads the row that is known of it in each of these texts."""
    if anatomy.rows.place is None:
        return
    for row in range(len(inputs.tokens)):
        text = inputs.select(torch.tensor([row], device=inputs.tokens.device))
        expected = anatomy.rows.of(text.mask)
        rows = _read_rows(network, text, anatomy.layers - 1)
        if expected is None or rows != expected.tolist():
            raise SettingError(
                f"model must read the same row of attention in every text; {type(network.module).__name__} reads row "
                f"{anatomy.rows.place} of some and rows {rows} of one with {text.tokens.shape[1]} tokens. Does the "
                "text contain the model's own end or padding symbol? Remove it."
            )


@dataclass
class _Heard(AttentionHook):
    """What each call's weights look like, in which block it is made, and the shape of what entered the last one."""

    block: str = ""
    visits: int = 0
    entering: tuple[int, ...] = (0,)
    calls: list[tuple[torch.Size, str, int, bool]] = field(default_factory=list)

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        is_distribution = bool((weights.sum(-1) < 1 + 1e-3).all() & (weights >= 0).all())
        self.calls.append((weights.shape, self.block, self.visits, is_distribution))
        return weights


def _heard(network: Network, text: Inputs) -> _Heard:
    heard = _Heard()

    def note(name: str):
        def hook(block: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            heard.block, heard.visits = name, heard.visits + 1
            entering = arguments[0] if arguments else named.get("hidden_states")
            heard.entering = tuple(entering.shape) if isinstance(entering, Tensor) else (0,)

        return hook

    with torch.no_grad(), ExitStack() as hooks:
        for name, block in blocks_of(network.module).items():
            hooks.enter_context(block.register_forward_pre_hook(note(name), with_kwargs=True))
        network.logits(text, heard)
    return heard


def _calls(network: Network, heard: _Heard, time: int) -> tuple[Call, ...]:
    calls = tuple(
        Call(shape[1], block, visit, is_distribution and shape[0] == 1 and shape[2:] == (time, time))
        for shape, block, visit, is_distribution in heard.calls
    )
    if not calls or not calls[-1].is_over_tokens:
        shown = f"weights of shape {tuple(heard.calls[-1][0])} for {time} tokens" if calls else "none of its weights"
        raise SettingError(
            f"model must attend to every token of the text; the attention of {type(network.module).__name__} is "
            f"windowed, pooled or of another kind ({shown} could be seen). Choose a model with full attention, such as "
            "BERT, RoBERTa, DeBERTa, ModernBERT, GPT-2, Llama, BART or T5."
        )
    return calls


def blocks_of(module: nn.Module) -> dict[str, nn.Module]:
    """The modules that stand in an outermost list (the layers of an encoder or decoder), by their names."""
    blocks: dict[str, nn.Module] = {}

    def collect(name: str, part: nn.Module) -> None:
        for child_name, child in part.named_children():
            path = f"{name}.{child_name}" if name else child_name
            if isinstance(part, nn.ModuleList) and not isinstance(child, nn.ModuleList):
                blocks[path] = child
            else:
                collect(path, child)

    collect("", module)
    return blocks


class _Differentiable(AttentionHook):
    """Makes the weights of the last call a variable of which the logits are a function."""

    def __init__(self, call: int):
        self.call = call
        self.variable: CallWeights | None = None

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        if call != self.call:
            return weights
        self.variable = weights.detach().requires_grad_()
        return self.variable


def _read_rows(network: Network, text: Inputs, last: int) -> list[int]:
    """The rows of the last call's weights that the logits of a single text depend on."""
    listener = _Differentiable(last)
    with torch.enable_grad():
        logits = network.logits(text, listener)[0].unbind()
    assert listener.variable is not None
    read = torch.zeros(text.tokens.shape[1], dtype=torch.bool)
    for logit in logits:
        (slope,) = torch.autograd.grad(logit, listener.variable, retain_graph=True)
        read |= (slope != 0).any(-1).any(1)[0].cpu()
    return read.nonzero()[:, 0].tolist()


def _rule(rows: Sequence[list[int]], texts: Sequence[Inputs]) -> ReadRows:
    """The rule that gives the rows of both texts."""
    if any(len(read) != 1 for read in rows):
        return ReadRows(None)
    from_start = {read[0] for read in rows}
    if len(from_start) == 1:
        return ReadRows(*from_start)
    from_end = {read[0] - text.tokens.shape[1] for read, text in zip(rows, texts, strict=True)}
    return ReadRows(from_end.pop() if len(from_end) == 1 else None)


def _ignores_padding(network: Network, longer: Inputs, shorter: Inputs) -> bool:
    """Whether the shorter text's logits are the same next to the longer one, whatever replaces padding."""
    if not network.has_padding:
        return False
    tokens, mask = _padded(longer, shorter)
    embedded = network.embed(tokens)
    noise = TOO_LOUD * torch.randn(embedded.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    embedded = embedded.where(mask[..., None], noise.to(embedded))
    with torch.no_grad():
        alone, together = network.logits(shorter), network.logits(Inputs(tokens, mask, embedded))[1:]
    return bool(((alone - together).abs() <= rounding(alone)).all())


def _padded(longer: Inputs, shorter: Inputs) -> tuple[Int[Tensor, "2 time"], Bool[Tensor, "2 time"]]:
    more = (0, longer.tokens.shape[1] - shorter.tokens.shape[1])
    parts = [
        (longer.tokens, nn.functional.pad(shorter.tokens, more)),
        (longer.mask, nn.functional.pad(shorter.mask, more)),
    ]
    tokens, mask = (torch.cat(pair) for pair in parts)
    return tokens, mask


def rounding(logits: Float[Tensor, "batch classes"]) -> float:
    """How far logits may be off by rounding alone: some thousand times the distance of neighbouring numbers."""
    return 4096 * torch.finfo(logits.dtype).eps * max(1.0, float(logits.detach().abs().max()))
