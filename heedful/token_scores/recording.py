"""Token scores over the course of training, as a tidy table."""

from collections.abc import Collection, Sequence

import polars as pl

from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import SPECIAL, WordTokenizer
from heedful.models.attention_model import AttentionModel
from heedful.token_scores.classes import token_classes, token_counts
from heedful.token_scores.directions import head_alignment
from heedful.token_scores.measurements import measurements

RECORD = pl.Schema({"epoch": pl.Int32, "token": pl.String, "measure": pl.String, "value": pl.Float64})


class Recorder:
    """Takes `measurements` of a model after chosen epochs and keeps them.

    Raises at once if the model has no direction of attention or no linear head.

    Args:
        split: the training texts.
        epochs: after which to measure; 0 is before training. If empty, nothing is computed.
    """

    def __init__(
        self,
        model: AttentionModel,
        split: EncodedSplit,
        words: WordTokenizer,
        labels: Sequence[str],
        epochs: Collection[int],
    ):
        self._model, self._split, self._labels, self._epochs = model, split, labels, epochs
        self._parts: list[pl.DataFrame] = []
        if epochs:
            head_alignment(model)
            self._words = words.words
            self._classes = token_classes(token_counts(split, words.size, len(labels)))

    def record(self, epoch: int) -> None:
        """Measure the model, if this is one of the chosen epochs."""
        if epoch not in self._epochs:
            return
        measured = measurements(self._model, self._split, self._classes, self._labels)
        if not self._parts:
            measured = {"class": self._classes.double(), **measured}
        for measure, value in measured.items():
            is_per_token = value.dim() == 1
            values = value[len(SPECIAL) :].cpu().numpy() if is_per_token else [value.item()]
            tokens = self._words[len(SPECIAL) :] if is_per_token else [None]
            columns = {"epoch": epoch, "token": tokens, "measure": measure, "value": values}
            self._parts.append(pl.DataFrame(columns, schema=RECORD))

    @property
    def table(self) -> pl.DataFrame | None:
        """Columns epoch, token, measure, value; None if nothing was recorded.

        A measure of the whole model has a null token. `class` is the number of the label that the token indicates in
        the training texts, -1 for neutral and -2 for neither; it is recorded with the first epoch only. Special symbols
        are left out.
        """
        return pl.concat(self._parts) if self._parts else None
