"""Hugging Face encoders to start fine-tuning from: their files, a hash of these, and a classifier put on top."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.transformers.hugging_face import FastTokenizer, HuggingFaceModel
from heedful.models.transformers.loading import (
    PREFIX,
    check_files,
    check_kind,
    first_line,
    load_tokenizer,
    quiet,
    require_transformers,
)

WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
VOCABULARY = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "spm.model")
FILES = ("config.json", *WEIGHTS, *TOKENIZER, *VOCABULARY)
"""What is read of a model, and nothing else."""


def pretrained_folder(name: str) -> Path:
    """The folder of that path; or that of the files of that name on the Hugging Face hub, fetched where need be."""
    require_transformers()
    source = name.removeprefix(PREFIX)
    if not source.strip():
        raise SettingError("finetune.model must be a folder or a name on the Hugging Face hub; it is empty.")
    check_files(source)
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download

    try:
        with quiet():
            fetched = Path(snapshot_download(source, allow_patterns=list(FILES)))
    except Exception as error:  # the hub's client raises errors of several libraries
        raise StoreError(
            f"model '{source}' is no folder, and cannot be had from the Hugging Face hub: {first_line(error)} Check "
            "the name, or give the path of a folder."
        ) from error
    check_files(str(fetched))
    return fetched


def pretrained_fingerprint(name: str) -> str:
    """A hash of what the model's files hold: other weights, vocabulary or settings make another run."""
    hashed = hashlib.sha256()
    for path in _files(pretrained_folder(name)):
        facts = path.stat()
        hashed.update(f"{path.name} {_digest(path.resolve(), facts.st_size, facts.st_mtime_ns)}\n".encode())
    return hashed.hexdigest()[:16]


def load_pretrained(name: str, labels: Sequence[str]) -> tuple[HuggingFaceModel, FastTokenizer]:
    """The encoder under a classifier for these labels, in float32, and its tokenizer.

    What the files have no weights for, the classifier above all, is drawn from torch's own generator. A classifier that
    they do have is kept where it has as many labels.

    Raises:
        SettingError: where it cannot be fine-tuned here.
        StoreError: where its files are missing or unfit.
    """
    folder = str(pretrained_folder(name))
    with quiet():
        tokenizer = load_tokenizer(folder)
        module, missing = _load_module(folder, labels)
    prefix = f"{module.base_model_prefix}."
    if lost := sorted(key for key in missing if key.startswith(prefix) and "pooler" not in key):
        raise SettingError(
            f"model {name} must have the weights of its encoder; it has none for {', '.join(lost[:3])}"
            f"{' ...' if len(lost) > 3 else ''}. Is it a model of another kind, saved under this one's config.json?"
        )
    _check_padding(name, module, tokenizer)
    return module, tokenizer


def _load_module(folder: str, labels: Sequence[str]) -> tuple[HuggingFaceModel, list[str]]:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    names = dict(enumerate(labels))
    try:
        config = AutoConfig.from_pretrained(
            folder,
            trust_remote_code=False,
            id2label=names,
            label2id={label: number for number, label in names.items()},
            problem_type="single_label_classification",
        )
        check_kind(folder, config)
        module, report = AutoModelForSequenceClassification.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except SettingError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise StoreError(f"model {folder} cannot be loaded for fine-tuning: {first_line(error)}") from error
    return module, list(report["missing_keys"])


def _check_padding(name: str, module: HuggingFaceModel, tokenizer: FastTokenizer) -> None:
    config: Any = module.config
    if tokenizer.pad_token_id is None or config.pad_token_id is None:
        raise SettingError(
            f"model {name} must have a padding token, so that texts of different lengths make a batch; it has none. "
            "Set `pad_token` in its tokenizer_config.json and `pad_token_id` in its config.json."
        )


def _files(folder: Path) -> list[Path]:
    return sorted({path for pattern in FILES for path in folder.glob(pattern) if path.is_file()})


@lru_cache
def _digest(path: Path, size: int, modified: int) -> str:
    """The hash as computed before, where the file is as it was."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
