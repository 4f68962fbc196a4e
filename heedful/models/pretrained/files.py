"""The files of a Hugging Face model: looked for, checked, and loaded without running anything that is in them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained.hugging_face import FastTokenizer

PREFIX = "hf:"
"""Stands before a model's folder, or its name on the hub, where it might be taken for something else."""
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
