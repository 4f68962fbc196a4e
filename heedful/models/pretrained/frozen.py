"""A pretrained transformer that is not trained: the states of the words that it has read are kept."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.models.pretrained.cache import StateCache
from heedful.models.pretrained.fingerprint import files_fingerprint, verify_fingerprint
from heedful.models.pretrained.loading import piece_reader, pretrained_module
from heedful.models.pretrained.states import Words, WordStates

SHARD, FEWEST = 256, 32
"""Texts whose states are stored in one file, at most and at least: fewer are kept in memory alone."""
TOGETHER = 16
"""Texts of similar length that are read together where their states are not stored."""
REMEMBERED = 2**28
"""Bytes of states that are kept in memory, of the texts read last.

Audits of several models above one transformer read the same changed texts: a hundred short ones fit, with every word
deleted in turn.
"""


class FrozenStates:
    """States of words by a transformer whose weights stay as they are; its files are opened when they are needed.

    Copies of a model share it.

    Args:
        encoder: `hf:` and a folder or a name.
        fingerprint: of its files, which are refused where they have changed; empty: whatever they are now.
    """

    def __init__(self, encoder: str, fingerprint: str):
        self.encoder, self.fingerprint = encoder, fingerprint
        self._recent: OrderedDict[Words, Tensor] = OrderedDict()
        self._remembered = 0

    def __deepcopy__(self, memo: dict[int, object]) -> "FrozenStates":
        return self

    @cached_property
    def reader(self) -> WordStates:
        """The transformer itself, verified and loaded."""
        verify_fingerprint(self.encoder, self.fingerprint)
        module = pretrained_module(self.encoder).requires_grad_(False)
        return WordStates(module, piece_reader(self.encoder, module))

    @cached_property
    def cache(self) -> StateCache:
        """What was read before, in this process and in others."""
        return StateCache(self.fingerprint or files_fingerprint(self.encoder))

    def of(self, texts: Sequence[Words], device: torch.device) -> list[Float[Tensor, "word width"]]:
        """The states of the words of each text, on that device: as stored, or else read now."""
        reader = self.reader
        known = {words: states for words in texts if (states := self._kept(words)) is not None}
        missing = sorted({words for words in texts if words not in known}, key=lambda words: (len(words), words))
        with torch.no_grad():
            for start in range(0, len(missing), TOGETHER):
                some = missing[start : start + TOGETHER]
                reader.module.to(device)  # pyright: ignore[reportArgumentType]
                for words, states in zip(some, reader.of(some), strict=True):
                    known[words] = states.cpu()
                    self._remember(words, known[words])
        return [known[words].to(device) for words in texts]

    def prepare(
        self, texts: Sequence[Words], device: torch.device, report: Callable[[int, int], None] | None = None
    ) -> None:
        """Read these texts, as far as they are not known, and store their states: each is read by itself.

        What is stored so depends on the text alone, and not on those beside which it would be padded.
        """
        self.cache.refresh()
        missing = [words for words in dict.fromkeys(texts) if words and not self._is_kept(words)]
        for start in range(0, len(missing), SHARD):
            read = {}
            with torch.no_grad():
                for words in missing[start : start + SHARD]:
                    self.reader.module.to(device)  # pyright: ignore[reportArgumentType]
                    (states,) = self.reader.of([words])
                    read[words] = states.cpu()
                    if report:
                        report(start + len(read), len(missing))
            if len(read) >= FEWEST:
                self.cache.put(read)
            else:
                for words, states in read.items():
                    self._remember(words, states)

    def _is_kept(self, words: Words) -> bool:
        return words in self._recent or words in self.cache

    def _kept(self, words: Words) -> Tensor | None:
        if words in self._recent:
            self._recent.move_to_end(words)
            return self._recent[words]
        return self.cache.get(words)

    def _remember(self, words: Words, states: Tensor) -> None:
        self._recent[words] = states
        self._remembered += states.nbytes
        while self._remembered > REMEMBERED and len(self._recent) > 1:
            _, dropped = self._recent.popitem(last=False)
            self._remembered -= dropped.nbytes


def frozen_states(encoder: str, fingerprint: str) -> FrozenStates:
    """The one that all models of a process share."""
    return _shared(encoder, fingerprint, Path.cwd())


@lru_cache(maxsize=4)
def _shared(encoder: str, fingerprint: str, where: Path) -> FrozenStates:
    """As `frozen_states`.

    Args:
        where: the folder that a relative path is seen from.
    """
    return FrozenStates(encoder, fingerprint)
