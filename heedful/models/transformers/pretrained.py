"""Hugging Face encoders to start fine-tuning from, with a classifier put on top."""

from collections.abc import Sequence
from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained.files import PREFIX, first_line, load_tokenizer, quiet
from heedful.models.pretrained.fingerprint import model_folder
from heedful.models.pretrained.hugging_face import FastTokenizer, HuggingFaceModel
from heedful.models.transformers.loading import check_kind


def load_pretrained(name: str, labels: Sequence[str]) -> tuple[HuggingFaceModel, FastTokenizer]:
    """The encoder under a classifier for these labels, in float32, and its tokenizer.

    What the files have no weights for, the classifier above all, is drawn from torch's own generator. A classifier that
    they do have is kept where it has as many labels.

    Raises:
        SettingError: where it cannot be fine-tuned here.
        StoreError: where its files are missing or unfit.
    """
    folder = str(model_folder(name.removeprefix(PREFIX)))
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
