"""Hugging Face classifiers from a folder or a name; whatever cannot be audited is refused with a word on why."""

from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained.files import PREFIX, check_files, first_line, load_tokenizer, quiet, require_transformers
from heedful.models.pretrained.hugging_face import HuggingFaceModel
from heedful.models.transformers.classifier import Classifier, examined, label_names
from heedful.models.transformers.network import Transport

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
