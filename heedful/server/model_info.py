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


class BatteryLine(BaseModel):
    """A test of the audit, which explains the answer."""

    name: str
    question: str
    sentence: str = ""


class AuditStrip(BaseModel):
    """What the model's audit says.

    Args:
        show: what it recommends to show; "not audited" if it has no answer.
        headline: the answer in one line.
        sentences: its numbers: for all texts, or for each predicted class if the answers differ.
        recommendation: what to do.
    """

    show: Literal["attention", "ranking", "key words", "nothing", "not audited"]
    headline: str
    sentences: list[str]
    recommendation: str
    lines: list[BatteryLine]


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
        audit: None if the model has none.
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
    audit: AuditStrip | None = None
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
