"""What a button is: its words, its paper, and the function that answers it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import DataError
from heedful.server.contract import Action as Name
from heedful.server.contract import ActionInfo, ActionResult, ActOptions, Solver
from heedful.server.text_state import divergence, prediction_change
from heedful.subjects.read_text import Reader, ReadText

JAIN_WALLACE = "Jain & Wallace 2019, Attention is not Explanation"
SERRANO_SMITH = "Serrano & Smith 2019, Is Attention Interpretable?"
WIEGREFFE_PINTER = "Wiegreffe & Pinter 2019, Attention is not not Explanation"
SEAT = "Hu et al. 2023, SEAT: Stable and Explainable Attention"


Function = Callable[[ReadText, ActOptions, Reader], ActionResult]
"""From the text, the options, and what reads another text with the same model, to the answer."""


@dataclass(frozen=True)
class Action:
    """A button.

    Args:
        title: what is written on it.
        question: what it asks.
        options: the names of the options that it uses.
    """

    name: Name
    title: str
    question: str
    paper: str
    function: Function
    options: tuple[str, ...] = ()

    @property
    def info(self) -> ActionInfo:
        """The button as the page knows it."""
        return ActionInfo(
            name=self.name, title=self.title, sentence=self.question, paper=self.paper, options=list(self.options)
        )


def button(title: str, question: str, paper: str, options: tuple[str, ...] = ()) -> Callable[[Function], Action]:
    """Make a button of the function that answers it."""
    return lambda function: Action(cast(Name, function.__name__), title, question, paper, function, options)


def check_several(read: ReadText) -> None:
    """Refuse a text whose attention has no choice."""
    if read.count < 2:
        raise DataError("text must have two items at least for this: attention has no choice here. Add a word.")


# The answer of an action that ends with other attention.


def answer_with(
    action: Action,
    read: ReadText,
    attention: Float[Tensor, "1 item"],
    logits: Float[Tensor, "1 classes"],
    *,
    solver: Solver = "exact",
    before: str,
    after: str = "",
    is_settable: bool = True,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> ActionResult:
    """The answer where an action imposes an attention.

    Args:
        before, after: sentences before (it ends with a colon) and after that on what happens to the prediction.
        is_settable: whether `decode` of that attention gives these logits.
        more: further fields of the answer.
    """
    reached = prediction_change(read, logits)
    fields = {
        "action": action.name,
        "solver": solver,
        "sentence": f"{before} {reached.move} {after}".rstrip(),
        "paper": action.paper,
        "attention": read.listed(attention),
        "is_settable": is_settable,
        "jsd": divergence(read, attention),
    }
    return ActionResult(**dict(reached), **fields, **more)


def kept_attention(read: ReadText, keep: Bool[Tensor, "1 item"]) -> Float[Tensor, "1 item"]:
    """The weights of the kept items, renormalised; 0 throughout where none of them has weight."""
    return read.evidence.log_attention.masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0.0)


def is_of_one_head(read: ReadText) -> bool:
    """Whether there is a single attention, so that what imposes it elsewhere and the sliders agree."""
    return read.evidence.heads is None
