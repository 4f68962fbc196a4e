"""What the page knows of a model: the answer of GET /api/models. The rules are those of `contract`. Needs no torch."""

from typing import Literal

from pydantic import BaseModel

from heedful.server.contract import Solver, TextState
from heedful.server.requests import Action


class ExampleText(BaseModel):
    """A text of the model's data.

    Args:
        label: what its data say it is.
        marks: places in `TextState.words` that people, or the data's maker, marked; None where nobody did.
    """

    text: str
    query: str = ""
    label: str = ""
    marks: list[int] | None = None


class VerdictLine(BaseModel):
    """A question of the audit and its answer; the score lies between a floor (0) and the best possible (1)."""

    name: str
    question: str
    group: str | None = None
    outcome: Literal["holds", "fails", "undecided", "not counted"]
    score: float | None = None
    low: float | None = None
    high: float | None = None
    sentence: str = ""


class VerdictStrip(BaseModel):
    """What the model's audit says.

    Args:
        action: what to show: "attention", "instead" (another ranking), "nothing".
        answer: may attention be shown?
        ranking, ranking_title: what to show in place of attention, or the best of the others.
        lead: the answer in a few words.
    """

    action: Literal["attention", "instead", "nothing"]
    answer: str
    ranking: str
    ranking_title: str
    lead: str
    sentences: list[str]
    lines: list[VerdictLine]


class ActionInfo(BaseModel):
    """A button.

    Args:
        title: what to write on it.
        sentence: what it asks.
        paper: whose question it is.
        options: the names of the fields of `ActOptions` that it uses.
        is_offered: False where this model cannot do it; `reason` says why.
    """

    name: Action
    title: str
    sentence: str
    paper: str
    options: list[str] = []
    is_offered: bool = True
    reason: str = ""


class ModelInfo(BaseModel):
    """GET /api/models: a list of these, in the order in which they were named.

    Args:
        id: what requests call it.
        about: what it is, by name: Model, Data, Run and others.
        item: what attention weighs: "word" or "sentence".
        is_linear: whether `TextState.item_logits` is given, so that dragging needs no server.
        is_hierarchical: whether items are sentences.
        solver: how most actions are answered.
        verdict: None where the model has no audit.
        report: whether GET /report/ID has a page.
    """

    id: str
    name: str
    about: dict[str, str]
    labels: list[str]
    item: str
    is_linear: bool
    is_hierarchical: bool
    has_query: bool
    solver: Solver
    examples: list[ExampleText]
    actions: list[ActionInfo]
    verdict: VerdictStrip | None = None
    report: bool = False


class SavedPage(BaseModel):
    """The JSON in a saved page.

    Args:
        reading: the answer of /api/read.
        attention: where the sliders stand; None: the model's own.
        version: of Heedful.
    """

    model: ModelInfo
    text: str
    query: str
    reading: TextState
    attention: list[float] | None
    version: str
