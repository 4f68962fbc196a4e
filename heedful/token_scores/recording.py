"""Scores of tokens along training, as a tidy table."""

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

    A model that has no direction of attention, or no linear head, is refused at once.

    Args:
        split: the training texts.
        epochs: after which to measure; 0: before training. Where there are none, nothing is ever computed.
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
        """Measure, if it is time to."""
        if epoch not in self._epochs:
            return
        found = measurements(self._model, self._split, self._classes, self._labels)
        if not self._parts:
            found = {"class": self._classes.double(), **found}
        for measure, value in found.items():
            of_tokens = value.dim() == 1
            values = value[len(SPECIAL) :].cpu().numpy() if of_tokens else [value.item()]
            tokens = self._words[len(SPECIAL) :] if of_tokens else [None]
            columns = {"epoch": epoch, "token": tokens, "measure": measure, "value": values}
            self._parts.append(pl.DataFrame(columns, schema=RECORD))

    @property
    def table(self) -> pl.DataFrame | None:
        """epoch, token, measure, value; None where nothing was recorded.

        A measure of the whole model has no token (null). `class` is the number of the label that the token speaks for
        in the training texts, -1 for neutral and -2 for none; it stands under the first epoch alone. The symbols that
        are no words are left out.
        """
        return pl.concat(self._parts) if self._parts else None
