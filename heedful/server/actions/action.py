"""What a button is: its words, its paper, and the function that answers it."""

from collections.abc import Callable
from dataclasses import dataclass

from heedful.errors import DataError
from heedful.server.contract import Acted
from heedful.server.model_info import ActionInfo
from heedful.server.reading import Reader, ReadText
from heedful.server.requests import Action as Name
from heedful.server.requests import ActOptions

JAIN_WALLACE = "Jain & Wallace 2019, Attention is not Explanation"
SERRANO_SMITH = "Serrano & Smith 2019, Is Attention Interpretable?"
WIEGREFFE_PINTER = "Wiegreffe & Pinter 2019, Attention is not not Explanation"
SEAT = "Hu et al. 2023, SEAT: Stable and Explainable Attention"


@dataclass(frozen=True)
class Action:
    """A button.

    Args:
        title: what is written on it.
        question: what it asks.
        function: from the text, the options, and what reads another text with the same model, to the answer.
        options: the names of the options that it uses.
    """

    name: Name
    title: str
    question: str
    paper: str
    function: Callable[[ReadText, ActOptions, Reader], Acted]
    options: tuple[str, ...] = ()

    @property
    def info(self) -> ActionInfo:
        """The button as the page knows it."""
        return ActionInfo(
            name=self.name, title=self.title, sentence=self.question, paper=self.paper, options=list(self.options)
        )


def check_several(read: ReadText) -> None:
    """Refuse a text whose attention has no choice."""
    if read.count < 2:
        raise DataError("text must have two items at least for this: attention has no choice here. Add a word.")
