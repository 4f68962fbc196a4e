"""A pretrained transformer that is not trained: the states of the words that it has read are kept."""

import hashlib
import json
import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from heedful.errors import StoreError
from heedful.models.hugging_face.model_files import HuggingFaceModel, files_fingerprint, verify_fingerprint
from heedful.models.hugging_face.pretrained_modules import piece_reader, pretrained_module
from heedful.models.hugging_face.subwords import PieceReader, Window
from heedful.settings.data_folder import user_path
from heedful.store.folders import write_file

# What a pretrained transformer makes of words: the mean of the states of each word's pieces.

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
                [(window, states[row]) for row, (word_ids, window) in enumerate(windows) if word_ids == number],
                len(words),
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
        states = torch.cat([states[: len(window.word_ids)] for window, states in parts])
        word_ids = torch.tensor([number for window, _ in parts for number in window.word_ids], device=states.device)
        states, word_ids = states[word_ids >= 0], word_ids[word_ids >= 0]
        sums = states.new_zeros(words, states.shape[1]).index_add(0, word_ids, states)
        return sums / torch.bincount(word_ids, minlength=words)[:, None].to(sums)


# States of words on disk, by the content of the text: a frozen transformer reads each text once for all runs.
#
# features/<fingerprint of the transformer>-<version>/<hash>.safetensors a tensor [word width] for each text
#
# A folder may be deleted at any time: what is missing is computed again.

log = logging.getLogger(__name__)

VARIABLE = "HEEDFUL_CACHE"
VERSION = 1
"""Bumped when the same files and words give other states on purpose."""


def cache_path() -> Path:
    """Where states are kept: under HEEDFUL_CACHE, or in the user's cache."""
    if value := os.environ.get(VARIABLE, ""):
        return user_path(value, VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else user_path("~/.cache", "the user's cache")) / "heedful"


class StateCache:
    """The states of texts that a transformer has read.

    Args:
        fingerprint: fingerprint of the transformer's files.
    """

    def __init__(self, fingerprint: str):
        self.folder = cache_path() / "features" / f"{fingerprint[:32]}-{VERSION}"
        self._files: dict[str, Path] = {}
        self._read: set[Path] = set()
        self._open: dict[Path, safe_open] = {}
        self.refresh()

    def refresh(self) -> None:
        """Look for files that were written since."""
        for path in sorted(self.folder.glob("*.safetensors")) if self.folder.is_dir() else []:
            if path not in self._read:
                self._list(path)

    def __contains__(self, words: Words) -> bool:
        return _key(words) in self._files

    def get(self, words: Words) -> Float[Tensor, "word width"] | None:
        """The states of the text's words; None if it was never read."""
        key = _key(words)
        path = self._files.get(key)
        if path is None:
            return None
        try:
            states = self._opened(path).get_tensor(key)
        except (OSError, SafetensorError) as error:
            log.warning("%s cannot be read and is left aside: %s.", path, error)
            self._files = {other: place for other, place in self._files.items() if place != path}
            return None
        return states if len(states) == len(words) else None

    def put(self, read: Mapping[Words, Float[Tensor, "word width"]]) -> None:
        """Store what was read, in one file; a full or read-only disk is ignored."""
        content = {_key(words): states.contiguous() for words, states in read.items()}
        size = sum(states.nbytes for states in content.values())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self.folder).free < 2 * size:
                raise OSError("less than twice that is free on the disk")
            name = hashlib.sha256("".join(sorted(content)).encode()).hexdigest()[:32]
            path = write_file(self.folder / f"{name}.safetensors", save(content))
        except (OSError, StoreError) as error:
            log.warning(
                "states of %d texts (%.0f MB) cannot be stored in %s, and are computed again when they are needed: %s. "
                "Name another folder by %s.",
                len(content),
                size / 1e6,
                self.folder,
                error,
                VARIABLE,
            )
            return
        self._list(path)

    def _list(self, path: Path) -> None:
        self._read.add(path)
        try:
            keys = self._opened(path).keys()
        except (OSError, SafetensorError) as error:
            log.warning("%s cannot be read and is left aside: %s.", path, error)
            return
        self._files |= dict.fromkeys(keys, path)

    def _opened(self, path: Path) -> safe_open:
        if path not in self._open:
            self._open[path] = safe_open(path, framework="pt")
        return self._open[path]


def _key(words: Words) -> str:
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


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
        fingerprint: fingerprint of its files; raises if they have changed. Empty: any files are accepted.
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

        What is stored so depends on the text alone, and not on the texts that it is padded with.
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
