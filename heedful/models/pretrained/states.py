"""What a pretrained transformer makes of words: the mean of the states of each word's pieces."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.models.pretrained.hugging_face import HuggingFaceModel
from heedful.models.pretrained.pieces import PieceReader, Window

Words = tuple[str, ...]


@dataclass(frozen=True)
class WordStates:
    """Reads the words of texts by a transformer: states of its last layer, averaged over the pieces of a word."""

    module: HuggingFaceModel
    reader: PieceReader

    def of(self, texts: Sequence[Words]) -> list[Float[Tensor, "word width"]]:
        """The state of each word of each text; all are read together, padded to the longest."""
        windows = [
            (number, window) for number, words in enumerate(texts) if words for window in self.reader.read(words)
        ]
        empty = torch.zeros(0, self.width, device=self.module.device, dtype=self.module.dtype)
        if not windows:
            return [empty for _ in texts]
        states = self._states([window for _, window in windows])
        return [
            self._pooled(
                [(window, states[row]) for row, (owner, window) in enumerate(windows) if owner == number], len(words)
            )
            if words
            else empty
            for number, words in enumerate(texts)
        ]

    @property
    def width(self) -> int:
        """How wide a state is."""
        return self.module.config.hidden_size

    def _states(self, windows: Sequence[Window]) -> Float[Tensor, "window piece width"]:
        longest, device = max(len(window.pieces) for window in windows), self.module.device
        padding = self.module.config.pad_token_id or 0
        pieces = torch.full((len(windows), longest), padding, device=device)
        mask = torch.zeros(len(windows), longest, dtype=torch.long, device=device)
        for row, window in enumerate(windows):
            pieces[row, : len(window.pieces)] = torch.tensor(window.pieces, device=device)
            mask[row, : len(window.pieces)] = 1
        return self.module(input_ids=pieces, attention_mask=mask).last_hidden_state

    def _pooled(
        self, parts: Sequence[tuple[Window, Float[Tensor, "piece width"]]], words: int
    ) -> Float[Tensor, "word width"]:
        """The mean state of the pieces of each word; a text may be read in several windows."""
        states = torch.cat([states[: len(window.owner)] for window, states in parts])
        owner = torch.tensor([number for window, _ in parts for number in window.owner], device=states.device)
        states, owner = states[owner >= 0], owner[owner >= 0]
        sums = states.new_zeros(words, states.shape[1]).index_add(0, owner, states)
        return sums / torch.bincount(owner, minlength=words)[:, None].to(sums)
