"""A button: its text, its paper, and the function that runs it."""

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
"""Arguments: the text, the options, and a reader of other texts with the same model."""


@dataclass(frozen=True)
class Action:
    """A button.

    Args:
        title: text on the button.
        question: the question of the experiment.
        options: the options that it uses.
    """

    name: Name
    title: str
    question: str
    paper: str
    function: Function
    options: tuple[str, ...] = ()

    @property
    def info(self) -> ActionInfo:
        """The button for the page."""
        return ActionInfo(
            name=self.name, title=self.title, sentence=self.question, paper=self.paper, options=list(self.options)
        )


def button(title: str, question: str, paper: str, options: tuple[str, ...] = ()) -> Callable[[Function], Action]:
    """Make a button of the function that runs it."""
    return lambda function: Action(cast(Name, function.__name__), title, question, paper, function, options)


def check_several(read: ReadText) -> None:
    """Refuse a text with a single item."""
    if read.count < 2:
        raise DataError("text must have at least two items: with one, attention is always 1. Add a word.")


# The result of an action that imposes attention weights.


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
    """The result of an action that imposes attention weights.

    Args:
        before, after: sentences before (it ends with a colon) and after the sentence on the prediction.
        is_settable: whether `decode` gives these logits for that attention.
        more: further fields of the result.
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
    """The weights of the kept items, renormalized; all 0 if none of them has weight."""
    return read.evidence.log_attention.masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0.0)


def is_of_one_head(read: ReadText) -> bool:
    """Whether the model has a single head, so that the sliders can show any attention."""
    return read.evidence.heads is None
