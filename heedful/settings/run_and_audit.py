"""Thresholds of the outcome of a text and of the answer for a model; docs/answer.md gives their reasons."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# Bounds of settings, and what all of them have in common.

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""What torch's generators take."""
Option = bool | int | float | str
OptionValue = Option | tuple[Option, ...]


class Settings(BaseModel):
    """Settings: frozen, nothing unknown among them, finite; shown by what is not as usual."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What is set otherwise than by default."""
        for name, field in type(self).model_fields.items():
            if (value := getattr(self, name)) != field.get_default(call_default_factory=True):
                yield name, value


# How a Hugging Face encoder is fine-tuned.


class FinetuneSettings(Settings):
    """A Hugging Face encoder under a new classifier, trained as a whole: AdamW, a linear warm-up and decay."""

    model: str
    """Its folder, or its name on the hub."""
    fingerprint: str = ""
    """Hash of the model's files, filled in when they are read; the folder's own name is not part of a run's key."""
    epochs: Annotated[int, Field(ge=1, le=1000)] = 3
    batch_size: Count = 32
    learning_rate: Positive = 1e-4
    """Of the first step after the warm-up; it falls to 0 at the last step."""
    warmup: Share = 0.1
    """Share of all steps in which the learning rate rises from 0."""
    weight_decay: NonNegative = 0.01
    """On matrices alone, neither on biases nor on layer norms."""
    clip_norm: Positive | None = 1.0
    max_tokens: Annotated[int, Field(ge=4, le=1_000_000)] = 128
    """Longer texts are cut to so many tokens, special ones included, in training and ever after."""
    patience: Count | None = None
    """Stop after so many epochs without improvement; None: never early."""
    metric: str = "accuracy"
    """What the best epoch is chosen by, on dev."""


Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Natural = Annotated[int, Field(ge=0)]


class OutcomeSettings(Settings):
    """The outcome of one text: points, misses or no small set."""

    alone_weight: Fraction = 2 / 3
    """Weight of what a set of words says alone; the rest is the weight of what is lost without it."""
    share: Fraction = 0.1
    """Share of the words of a text that count as shown."""
    least: Annotated[int, Field(ge=1)] = 2
    """At least this many words count as shown (one in texts of two or three words)."""
    most: Annotated[int, Field(ge=1)] = 5
    """At most this many words count as shown."""
    decisive: Fraction = 0.15
    """A small set of words decides if best - chance is at least this large."""
    enough: Fraction = 0.5
    """A ranking points if its top words go this far from chance to best."""
    near: Fraction = 0.15
    """A part of the text gives the prediction if its probability is at most this much below the whole text's."""
    random_sets: Annotated[int, Field(ge=2)] = 10
    """Random sets of words per text, for chance and luck."""
    all_sets: Natural = 66
    """If a text has at most this many sets of k words, all of them are read."""
    swaps: Annotated[float, Field(ge=0.0)] = 1.0
    """Budget of the search for the key words: new sets per word of the text."""
    most_swaps: Natural = 500
    """Largest budget: it bounds the time that texts of thousands of words take."""
    dev_texts: Natural = 150
    """Dev texts on which the ranking to show is chosen, at most."""
    replaced_texts: Natural = 150
    """Audited texts whose words are also replaced, at most."""
    replace_with: Literal["word", "mask"] = "word"
    """A different word, drawn by frequency; or the mask token of a Hugging Face model."""


class AnswerSettings(Settings):
    """From outcomes to an answer."""

    texts: Annotated[int, Field(ge=2)] = 30
    """Fewer audited texts are too few."""
    decided_texts: Annotated[int, Field(ge=2)] = 20
    """Fewer texts in which a small set decides are too few."""
    most_texts: Fraction = 0.5
    """No small set decides if the interval of the share of these texts lies above this."""
    yes: Fraction = 0.75
    """Yes if the interval of the share of texts in which attention points lies above this."""
    yes_beyond_luck: Fraction = 0.5
    """And attention is further than this on the way from luck to 1."""
    no: Fraction = 0.5
    """No if the interval of the share lies below this."""
    no_beyond_luck: Fraction = 0.25
    """Or attention is less far than this on the way from luck to 1."""
    named_share: Fraction = 0.8
    """Answers name the share of texts in which a small set decides if it is below this."""
    seed_gap: Fraction = 0.2
    """Answers list the seeds if their shares differ by more than this."""
    dev_texts: Annotated[int, Field(ge=2)] = 60
    """With fewer dev texts, halves of the audited texts serve as dev and test."""
    wrong_texts: Annotated[int, Field(ge=2)] = 30
    """Wrong predictions get a sentence if there are at least this many."""
    level: Annotated[float, Field(gt=0.5, lt=1.0)] = 0.95
    """Level of all intervals."""
