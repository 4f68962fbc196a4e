"""What the server answers to the page, as JSON; `requests` has what it asks, `model_info` what it knows of models.

Rules that hold throughout:

- Every POST has a JSON body; an unknown field is refused. Every answer but a file is JSON.
- An error is `Refusal`, {"error": "a sentence"}, with a status of 4xx: 400 what was asked cannot be done, 403 no right
  token, Host or Origin, 404 no such model or path, 410 the run was deleted, 413 too much, 415 not JSON, 422 a field is
  not what it must be, or the model failed on this text.
- Probabilities and logits are lists in the order of `ModelInfo.labels`; `predicted` is a place in it.
- Weights are lists over `TextState.items`, in their order; they sum to 1 where they are attention.
- What is undefined is null, never NaN.
- Divergences are natural: `tvd` is total variation distance, 0 to 1; `jsd` is Jensen-Shannon, 0 to ln 2.
- `solver` says how sure an answer is: "exact"; "bound", where this much is proven and more may be possible; "search",
  where it is the best that was tried.
- `start` and `end` of a word count UTF-16 code units, as JavaScript's `slice` does.

`static/saved.html` is a Jinja template (autoescape on) of the saved page. It is given: `title`; `style`, the content of
page.css; `module`, a function from the name of a file in static/ to its content, without lines that begin with `import`
and without `export ` before a declaration, so that several can stand in one inline script of type module; `payload`,
the JSON of `SavedPage`, escaped for a script element of type application/json; `version`. It carries its own
Content-Security-Policy in a meta element.
"""

from typing import Literal

from pydantic import BaseModel

from heedful.schema import Outcome
from heedful.server.requests import Action

Solver = Literal["exact", "bound", "search"]


class Refusal(BaseModel):
    """Why something was not done: which field, what it must be, what it was, what to do."""

    error: str


class WordInfo(BaseModel):
    """A word of the text, where it stands in it, and whether the model knows it.

    Args:
        in_query: whether it is a word of the query, which Hugging Face classifiers attend to as well.
    """

    text: str
    start: int
    end: int
    is_known: bool = True
    in_query: bool = False


class ItemInfo(BaseModel):
    """What attention weighs: a word, or a sentence.

    Args:
        words: places in `TextState.words`.
        label: as to be shown.
    """

    words: list[int]
    label: str


class RankedItems(BaseModel):
    """A ranking of the items beside attention.

    Args:
        name: of the ranking, or "rationale".
        title: as to be shown.
        is_signed: whether negative weights oppose the prediction.
        weights: of each item; null if undefined.
        badge: the outcome of the text for this ranking, in a word or two; empty if it was not computed.
    """

    name: str
    title: str
    is_signed: bool
    weights: list[float | None]
    badge: str = ""


class Widest(BaseModel):
    """The most that any attention can move the prediction, and an attention that does it."""

    tvd: float
    solver: Solver
    attention: list[float]


class ShownOutcome(BaseModel):
    """The outcome of the text, under the model's own attention.

    Args:
        outcome: of attention; None if the text has none.
        sentences: what every view says about it; the first is the outcome.
        key_words: items with the largest effect: the key words if a small set decides.
    """

    outcome: Outcome | None
    sentences: list[str]
    key_words: list[int]


class TextState(BaseModel):
    """The answer to POST /api/read.

    Args:
        words: what the model reads; a text that is too long is cut, and `notes` say so.
        attention: of each item.
        word_attention: of a hierarchical model, the weight of each word within its sentence; None otherwise.
        item_logits: what the model would say with all weight on one item: logits = sum of attention x item_logits; None
            where the head is not linear: then dragging asks /api/decode.
        empty_logits: what it says where nothing is left; None where the head is not linear.
        widest: None where there is a single item.
        outcome: None in a quick reading, and if the text is too long to compute it while a person waits.
        notes: what a reader should know of this text.
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
    widest: Widest | None
    rankings: list[RankedItems]
    outcome: ShownOutcome | None
    notes: list[str]


class Decoded(BaseModel):
    """The answer to POST /api/decode; `tvd` and `jsd` are the distances of prediction and attention from the own.

    Args:
        item_logits: under the given `word_attention`, for dragging to go on; None where none was given, or the head is
            not linear.
    """

    logits: list[float]
    probabilities: list[float]
    predicted: int
    tvd: float
    jsd: float
    item_logits: list[list[float]] | None = None


class ErasureStep(BaseModel):
    """What the model says after this item is erased too, and the weights of the rest are renormalised."""

    item: int
    probabilities: list[float]
    predicted: int
    tvd: float


class Acted(BaseModel):
    """The answer to POST /api/act.

    Args:
        sentence: what came out, to be shown beside the button.
        paper: whose question it is.
        attention: that the action ends with; None where the text has other items then, or nothing came out.
        is_settable: whether the sliders can be set to that attention: /api/decode then gives these probabilities.
        probabilities, logits, predicted: under that attention, or of the changed text.
        tvd: how far the prediction moved from that of the text as it is.
        jsd: how far attention moved from the model's own; None where the items are others.
        is_changed: whether the decision is another.
        items: remove_top, smallest_set: the erased items; embedding_noise: the noisy one; replace_word: the replaced
            one; worst_permutation and others: None.
        steps: erase_ranking: every prefix of the ranking that leaves some weight, shortest first.
        flips_at: erase_ranking: the number of steps at which the decision first changes; None where it never does.
        radius: worst_perturbation: the certified radius in that norm, within which no attention changes the decision;
            None where there is none, because no attention does, or the head is not linear.
        most_radius: worst_perturbation: how far apart two attentions can be at all in that norm: the axis ends here.
        text: replace_word: the text with the word replaced.
        replaced: replace_word: the word and what stands in its place.
    """

    action: Action
    solver: Solver
    sentence: str
    paper: str
    attention: list[float] | None = None
    is_settable: bool = False
    logits: list[float] | None = None
    probabilities: list[float]
    predicted: int
    tvd: float
    jsd: float | None = None
    is_changed: bool
    items: list[int] | None = None
    steps: list[ErasureStep] | None = None
    flips_at: int | None = None
    radius: float | None = None
    most_radius: float | None = None
    text: str | None = None
    replaced: tuple[str, str] | None = None
