"""Which files a pretrained transformer is made of, and a hash of their content."""

import hashlib
from functools import lru_cache
from pathlib import Path

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained import minilm
from heedful.models.pretrained.files import PREFIX, check_files, first_line, quiet, require_transformers

PATTERNS = (
    "config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "*token*.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)
"""Files that decide what a model makes of a text: configuration, weights, tokenizer."""


def is_pretrained(encoder: str) -> bool:
    """Whether the name of an encoder is that of a Hugging Face model.

    >>> is_pretrained("hf:./my-bert"), is_pretrained("bilstm")
    (True, False)
    """
    return encoder.startswith(PREFIX)


def model_folder(source: str) -> Path:
    """The folder with the files of a model: the one that is named, or the copy of a model of the hub, fetched once.

    `minilm` is MiniLM, wherever it is at hand.
    """
    if not source.strip():
        raise SettingError("model must be a folder or a name on the Hugging Face hub; it is empty.")
    folder = Path(source).expanduser()
    if source == minilm.NAME and not folder.is_dir():
        known = minilm.minilm_folder()
        if known is None:
            raise StoreError(f"MiniLM is not at hand; {minilm.HOW}.")
        source, folder = str(known), known
    check_files(source)
    if folder.is_dir():
        return folder
    require_transformers()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        with quiet():
            fetched = Path(snapshot_download(source, allow_patterns=list(PATTERNS)))
    except (OSError, HFValidationError, HfHubHTTPError, LocalEntryNotFoundError) as error:
        raise StoreError(
            f"model {source} is no folder here, and cannot be had from the Hugging Face hub: {first_line(error)}"
        ) from error
    check_files(str(fetched))
    return fetched


def files_fingerprint(source: str) -> str:
    """A hash of the names and the content of the files that a model is made of."""
    folder = model_folder(source.removeprefix(PREFIX))
    paths = sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})
    digest = hashlib.sha256()
    for path in paths:
        known = path.stat()
        digest.update(f"{path.name} {_file_hash(path, known.st_size, known.st_mtime_ns)}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _file_hash(path: Path, size: int, changed: int) -> str:
    """Of a file as it is now: read again only where its size or the time of its last change is another."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_fingerprint(source: str, fingerprint: str) -> None:
    """Raise a StoreError unless the model's files are those that a run was trained with.

    Args:
        source: `hf:` and a folder or a name, or that alone.
        fingerprint: theirs; empty where nobody has recorded it.
    """
    source = source.removeprefix(PREFIX)
    try:
        known = files_fingerprint(source)
    except StoreError as error:
        raise StoreError(
            f"the run reads texts by the encoder {source}, whose files are not at hand: {error} Put them back where "
            "they were."
        ) from error
    if fingerprint not in ("", known):
        raise StoreError(
            f"the run reads texts by the encoder {source}, whose files have changed since: their fingerprint was "
            f"{fingerprint[:16]} and is {known[:16]}. Restore them, or train anew."
        )
