"""States of words on disk, by the content of the text: a frozen transformer reads each text once for all runs.

features/<fingerprint of the transformer>-<version>/<hash>.safetensors   a tensor [word width] for each text

A folder may be deleted at any time: what is missing is computed anew.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from heedful.models.pretrained.states import Words
from heedful.settings.folder import user_path

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
        fingerprint: of the transformer's files.
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
        """The states of the text's words; None where it was never read."""
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
        """Store what was read, in one file; a disk that is full or may not be written to is no obstacle."""
        content = {_key(words): states.contiguous() for words, states in read.items()}
        size = sum(states.nbytes for states in content.values())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self.folder).free < 2 * size:
                raise OSError("less than twice that is free on the disk")
            name = hashlib.sha256("".join(sorted(content)).encode()).hexdigest()[:32]
            with NamedTemporaryFile(dir=self.folder, suffix=".part", delete=False) as part:
                part.write(save(content))
            path = Path(part.name).rename(self.folder / f"{name}.safetensors")
        except OSError as error:
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
