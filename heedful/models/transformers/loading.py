"""Hugging Face classifiers from a folder or a name; whatever cannot be audited is refused with a word on why."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.transformers.classifier import Classifier, examined, label_names
from heedful.models.transformers.hugging_face import FastTokenizer, HuggingFaceModel
from heedful.models.transformers.network import Transport

PREFIX = "hf:"
"""Stands before a model's name on the hub, where it might be taken for something else."""
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model")
"""Files of which a folder with a tokenizer has one at least."""
WINDOWED = ("longformer", "led", "bigbird_pegasus", "reformer", "nystromformer", "yoso", "mra", "fnet")
"""Kinds of models whose attention is windowed, hashed or approximated, or that have none."""


def load_classifier(
    name: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    longest: int | None = None,
    transport: Transport | None = None,
) -> Classifier:
    """The classifier in that folder, or of that name on the Hugging Face hub (`hf:` before it is left out).

    Nothing in the files is executed: weights are read from safetensors only, and code in the repository never.

    Args:
        longest: how many tokens it reads at most; None: what tokenizer and model say.

    Raises:
        SettingError: where it is none of the models that can be audited.
        StoreError: where its files are missing or unfit.
    """
    require_transformers()
    source = name.removeprefix(PREFIX)
    check_files(source)
    with quiet():
        module = _load_module(source, dtype)
        tokenizer = load_tokenizer(source)
    module.to(torch.device(device))  # pyright: ignore[reportArgumentType]
    return examined(source, module, tokenizer, longest=longest, transport=transport)


def require_transformers() -> None:
    """Raise unless transformers is there, and new enough."""
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


def _load_module(source: str, dtype: torch.dtype) -> HuggingFaceModel:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
        check_kind(source, config)
        module, report = AutoModelForSequenceClassification.from_pretrained(
            source, config=config, dtype=dtype, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
    except SettingError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise StoreError(f"model {source} cannot be loaded: {first_line(error)}") from error
    if missing := sorted(report["missing_keys"]):
        raise SettingError(
            f"model {source} has no weights for {', '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}, which "
            "would be random: it is not a classifier that was trained. Fine-tune it first, or name another."
        )
    label_names(module)
    return module


def check_kind(source: str, config: Any) -> None:
    """Refuse kinds of models before their weights are loaded."""
    is_sparse = getattr(config, "attention_type", None) == "block_sparse"
    if config.model_type in WINDOWED or is_sparse:
        also = " Set attention_type to 'original_full' in its config.json to use full attention." if is_sparse else ""
        raise SettingError(
            f"model {source} is a {config.model_type}, whose attention is windowed or not of the usual kind: there is "
            f"no weight for every word.{also} Choose a model with full attention, such as BERT, RoBERTa or DeBERTa."
        )


def load_tokenizer(source: str) -> FastTokenizer:
    """The tokenizer in that folder or of that name; refused where it does not know which word a token is of."""
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
