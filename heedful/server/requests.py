"""What the page may ask of the server: the bodies of its requests. The rules are those of `contract`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

MOST_BYTES = 256 * 1024
"""Of the body of a request."""
MOST_CHARACTERS = 20_000
"""Of a text."""
MOST_WORDS = 2_000
"""Of a text are read; a note says so where there are more."""
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
    """What a request may say: nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextRequest(Request):
    """A text for a model to read.

    Args:
        model: `ModelInfo.id`.
        query: the question or hypothesis, where `ModelInfo.has_query`; otherwise empty or left out.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    text: Annotated[str, Field(max_length=MOST_CHARACTERS)]
    query: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""


class ReadRequest(TextRequest):
    """POST /api/read: what the model makes of the text; the answer is a `TextState`.

    Args:
        is_quick: leave out what takes passes through the encoder: the outcome, and rankings such as leave-one-out.
            While a person types, the page asks for this first, and for all of it when they pause.
    """

    is_quick: bool = False


class DecodeRequest(TextRequest):
    """POST /api/decode: what the model says under other attention; the answer is a `Decoded`.

    Args:
        attention: as many weights as the text has items; they sum to 1.
        word_attention: hierarchical models only: as many weights as the text has words, which sum to 1 within each
            sentence; None: the model's own.
    """

    attention: Attention
    word_attention: Attention | None = None


class ActOptions(Request):
    """What an action can be given; each is used by those that its line names.

    Args:
        ranking: erase_ranking: the ranking to erase down.
        seed: shuffle, embedding_noise: of what is drawn.
        radius, norm: worst_perturbation: the ball around the model's attention.
        scale: embedding_noise: the variance of the noise on each coordinate.
        item: replace_word: the place of the word in `TextState.words`; None: the most attended that has a similar word.
    """

    ranking: Ranking = "attention"
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 0
    radius: Annotated[FiniteFloat, Field(ge=0, le=2)] = 0.1
    norm: Norm = "l1"
    scale: Annotated[FiniteFloat, Field(ge=0, le=100)] = 0.01
    item: Annotated[int, Field(ge=0, lt=MOST_WORDS)] | None = None


class ActRequest(TextRequest):
    """POST /api/act: a button; the answer is an `Acted`. All actions begin from the model's own attention."""

    action: Action
    options: ActOptions = ActOptions()


class SaveRequest(TextRequest):
    """POST /api/save: one HTML file that works offline, as an attachment; for linear models only.

    Args:
        attention: where the sliders stand; None: the model's own.
    """

    attention: Attention | None = None


class PictureRequest(TextRequest):
    """POST /api/picture: the text as a heat map, as an attachment of type image/svg+xml or image/png."""

    attention: Attention | None = None
    format: PictureFormat = "svg"
