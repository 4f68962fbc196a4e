"""How a Hugging Face encoder is fine-tuned."""

from typing import Annotated

from pydantic import Field

from heedful.settings.base import Count, NonNegative, Positive, Settings, Share


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
