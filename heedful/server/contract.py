"""Requests of the page, and the server's responses as JSON.

Rules for all of them:

- Every POST has a JSON body; an unknown field is refused. Every response but a file is JSON.
- An error is {"error": "a sentence"}: which field, what it must be, what it was, what to do. Its status is 400 if the
  request cannot be fulfilled, 403 without the right token, Host or Origin, 404 for no such model or path, 410 if the
  run was deleted, 413 for too much, 415 for anything but JSON, 422 if a field is not valid, or the model failed on this
  text.
- Probabilities and logits are lists in the order of `ModelInfo.labels`; `predicted` is a place in it.
- Weights are lists over `TextState.items`, in their order; attention sums to 1.
- An undefined number is null, never NaN.
- Divergences are natural: `tvd` is total variation distance, 0 to 1; `jsd` is Jensen-Shannon, 0 to ln 2.
- `solver` is "exact"; "bound" if this much is proven and more might be possible; or "search" if the result is the best
  that was tried.
- `start` and `end` of a word count UTF-16 code units, as JavaScript's `slice` does.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from heedful.explaining.explanation import Guidance, Solver
from heedful.schema import Line, TextOutcome

# The bodies of the page's requests.

MOST_BYTES = 256 * 1024
"""Of the body of a request."""
MOST_CHARACTERS = 20_000
"""Of a text."""
MOST_WORDS = 2_000
"""Words of a text that are read; a note says so if there are more."""
MOST_SEED = 2**31 - 1

Action = Literal[
    "other_attention",
    "remove_top",
    "erase_ranking",
    "smallest_set",
    "shuffle",
    "worst_permutation",
    "uniform",
    "worst_perturbation",
    "embedding_noise",
    "replace_word",
]
Ranking = Literal["attention", "weight_gradient", "attention_x_gradient", "gradient_x_input", "leave_one_out"]
Norm = Literal["l1", "l2", "linf"]
PictureFormat = Literal["svg", "png"]

Weight = Annotated[FiniteFloat, Field(ge=0, le=1)]
Attention = Annotated[list[Weight], Field(max_length=MOST_WORDS)]


class Request(BaseModel):
    """A request without further fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextRequest(Request):
    """A text for a model to read.

    Args:
        model: `ModelInfo.id`.
        query: the question or hypothesis, if `ModelInfo.has_query`; otherwise empty or left out.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    text: Annotated[str, Field(max_length=MOST_CHARACTERS)]
    query: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""


class ReadRequest(TextRequest):
    """POST /api/read: read a text. The response is a `TextState`.

    Args:
        is_quick: leave out the outcome and rankings such as leave-one-out, which take passes through the encoder.
            While a person types, the page asks for this first, and for all of it when they pause.
    """

    is_quick: bool = False


class DecodeRequest(TextRequest):
    """POST /api/decode: predict from these weights. The response is a `Decoded`.

    Args:
        attention: as many weights as the text has items; they sum to 1.
        word_attention: hierarchical models only: as many weights as the text has words, which sum to 1 within each
            sentence; None: the model's own.
    """

    attention: Attention
    word_attention: Attention | None = None


class ActOptions(Request):
    """Options of actions; each is used by the actions that its line names.

    Args:
        ranking: erase_ranking: the ranking by which to erase.
        seed: shuffle, embedding_noise: seed of the random draw.
        radius, norm: worst_perturbation: the ball around the model's attention.
        scale: embedding_noise: the variance of the noise on each coordinate.
        item: replace_word: the place of the word in `TextState.words`; None: the most attended that has a synonym.
    """

    ranking: Ranking = "attention"
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    radius: Annotated[FiniteFloat, Field(ge=0, le=2)] = 0.1
    norm: Norm = "l1"
    scale: Annotated[FiniteFloat, Field(ge=0, le=100)] = 0.01
    item: Annotated[int, Field(ge=0, lt=MOST_WORDS)] | None = None


class ActRequest(TextRequest):
    """POST /api/act: a button. The response is an `ActionResult`. All actions start from the model's own attention."""

    action: Action
    options: ActOptions = ActOptions()


class SaveRequest(TextRequest):
    """POST /api/save: one HTML file that works offline, as an attachment; for linear models only.

    Args:
        attention: weights on the sliders; None: the model's own.
    """

    attention: Attention | None = None


class PictureRequest(TextRequest):
    """POST /api/picture: the text as a heat map, as an attachment of type image/svg+xml or image/png."""

    attention: Attention | None = None
    format: PictureFormat = "svg"


class WordInfo(BaseModel):
    """A word of the text, its place in the text, and whether the model knows it.

    Args:
        in_query: whether it is a word of the query, which Hugging Face classifiers attend to as well.
    """

    text: str
    start: int
    end: int
    is_known: bool = True
    in_query: bool = False


class ItemInfo(BaseModel):
    """An item that attention weighs: a word, or a sentence.

    Args:
        words: places in `TextState.words`.
        label: text to show.
    """

    words: list[int]
    label: str


class RankedItems(BaseModel):
    """A ranking of the items, to compare with attention.

    Args:
        name: name of the ranking, or "rationale".
        title: its name as text.
        is_signed: whether negative weights oppose the prediction.
        weights: one per item; null if undefined.
        badge: the outcome of the text for this ranking; empty if it was not computed.
    """

    name: str
    title: str
    is_signed: bool
    weights: list[float | None]
    badge: str = ""


class LargestChange(BaseModel):
    """The most that any attention can move the prediction, and weights that do it."""

    tvd: float
    solver: Solver
    attention: list[float]


class ShownOutcome(TextOutcome):
    """The outcome of the text, under the model's own attention.

    Args:
        badge: name of the outcome.
        sentences: the sentences of every view; the first is the outcome.
    """

    badge: str
    sentences: list[str]


class TextState(BaseModel):
    """The response to POST /api/read.

    Args:
        words: words that the model reads; a text that is too long is cut, and `notes` say so.
        attention: one weight per item.
        word_attention: weight of each word within its sentence in a hierarchical model; None otherwise.
        item_logits: logits with all weight on one item: logits = sum of attention x item_logits; None if the head is
            not linear: then dragging asks /api/decode.
        empty_logits: logits without any items; None if the head is not linear.
        widest: None if there is a single item.
        outcome: None in a quick reading, and if the text is too long to compute it while a person waits.
        notes: limits of what is shown, such as unknown words.
    """

    model: str
    text: str
    query: str
    words: list[WordInfo]
    items: list[ItemInfo]
    attention: list[float]
    word_attention: list[float] | None
    logits: list[float]
    probabilities: list[float]
    predicted: int
    item_logits: list[list[float]] | None
    empty_logits: list[float] | None
    widest: LargestChange | None
    rankings: list[RankedItems]
    outcome: ShownOutcome | None
    notes: list[str]


class Prediction(BaseModel):
    """A prediction under imposed attention or for a changed text, compared with that for the unchanged text.

    Args:
        label: the predicted label.
        tvd: how far the prediction moved.
        is_changed: whether the predicted label differs.
    """

    logits: list[float]
    probabilities: list[float]
    predicted: int
    label: str
    tvd: float
    is_changed: bool

    @property
    def answer(self) -> str:
        """The label and its probability, as text."""
        return f"{self.label} ({self.probabilities[self.predicted]:.2f})"

    @property
    def move(self) -> str:
        """How far the prediction moved, as text to follow a colon."""
        changed = f"flips to {self.answer}" if self.is_changed else f"stays {self.answer}"
        return f"the prediction moves by {self.tvd:.2f} and {changed}."


class Decoded(Prediction):
    """The response to POST /api/decode.

    Args:
        jsd: how far attention moved from the model's own.
        item_logits: under the given `word_attention`, for dragging to go on; None if none was given, or the head is not
            linear.
    """

    jsd: float
    item_logits: list[list[float]] | None = None


class ErasureStep(Prediction):
    """The prediction after this item is erased too, and the weights of the rest are renormalized."""

    item: int


class ActionResult(Prediction):
    """The response to POST /api/act: the prediction under the attention that the action ends with, or of a changed
    text.

    Args:
        sentence: the result as a sentence.
        paper: source of the question.
        attention: weights that the action ends with; None if the changed text has different items, or without a result.
        is_settable: whether the sliders can be set to that attention: /api/decode then gives these probabilities.
        jsd: how far attention moved from the model's own; None if the items differ.
        items: remove_top, smallest_set: the erased items; embedding_noise: the noisy one; replace_word: the replaced
            one; worst_permutation and others: None.
        steps: erase_ranking: every prefix of the ranking that leaves some weight, shortest first.
        flips_at: erase_ranking: the number of steps at which the prediction first changes; None if it never does.
        radius: worst_perturbation: the certified radius in that norm, within which no attention changes the
            prediction; None if no attention does, or the head is not linear.
        most_radius: worst_perturbation: the largest distance of two attention distributions in that norm.
        text: replace_word: the text with the word replaced.
        replaced: replace_word: the word and its replacement.
    """

    action: Action
    solver: Solver
    sentence: str
    paper: str
    attention: list[float] | None = None
    is_settable: bool = False
    jsd: float | None = None
    items: list[int] | None = None
    steps: list[ErasureStep] | None = None
    flips_at: int | None = None
    radius: float | None = None
    most_radius: float | None = None
    text: str | None = None
    replaced: tuple[str, str] | None = None


# Models as the page gets them from GET /api/models. Needs no torch.


class ExampleText(BaseModel):
    """A text of the model's data.

    Args:
        label: its label in the data.
        marks: annotated places in `TextState.words`; None if not annotated.
    """

    text: str
    query: str = ""
    label: str = ""
    marks: list[int] | None = None


class ActionInfo(BaseModel):
    """A button.

    Args:
        title: text on the button.
        sentence: question of the experiment.
        paper: source of the question.
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
        id: name of the model in requests.
        about: facts by name: Model, Data, Run and others.
        item: unit that attention weighs: "word" or "sentence".
        is_linear: whether `TextState.item_logits` is given, so that dragging needs no server.
        is_hierarchical: whether items are sentences.
        solver: how most results are computed.
        guidance: answer of its audit; None if it has no audit.
        answer_kind: color and shape of the audit's answer, as in the report.
        lines: the tests of its audit, which explain the answer; with an audit, GET /report/ID is its report.
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
    guidance: Guidance | None = None
    answer_kind: str = "none"
    lines: tuple[Line, ...] = ()


class SavedPage(BaseModel):
    """The JSON in a saved page.

    Args:
        reading: the response of /api/read.
        attention: weights on the sliders; None: the model's own.
        version: version of Heedful.
    """

    model: ModelInfo
    text: str
    query: str
    reading: TextState
    attention: list[float] | None
    version: str
