"""Hugging Face encoders to start fine-tuning from, with a classifier put on top."""

from collections.abc import Sequence
from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.hugging_face.classifier import Classifier, label_names, load_inspected
from heedful.models.hugging_face.model_files import (
    PREFIX,
    FastTokenizer,
    HuggingFaceModel,
    check_files,
    first_line,
    load_tokenizer,
    longest_text,
    model_folder,
    quiet,
    require_transformers,
)
from heedful.models.hugging_face.network import Transport
from heedful.models.hugging_face.subwords import PieceReader

# Pretrained transformers loaded as encoders: configuration, module, tokenizer.

UNREADABLE = (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError)


def encoder_width(encoder: str) -> int:
    """How wide the states of an encoder `hf:...` are."""
    return load_config(encoder).hidden_size


def load_config(encoder: str) -> Any:
    """The configuration of an encoder `hf:...`; refused where it does not read a text by itself."""
    require_transformers()
    from transformers import AutoConfig

    source = encoder.removeprefix(PREFIX)
    folder = model_folder(source)
    try:
        with quiet():
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except UNREADABLE as error:
        raise StoreError(f"the configuration of model {source} cannot be read: {first_line(error)}") from error
    if config.is_encoder_decoder or not isinstance(getattr(config, "hidden_size", None), int):
        raise SettingError(
            f"encoder must be a Hugging Face model that gives each token a state; {source} is a {config.model_type}. "
            "Choose an encoder such as BERT, RoBERTa or MiniLM."
        )
    return config


def untrained_module(encoder: str) -> HuggingFaceModel:
    """The transformer of an encoder `hf:...` before its weights are loaded: nothing but its configuration is read."""
    config = load_config(encoder)
    from transformers import AutoModel

    with quiet():
        return _without_pooler(AutoModel.from_config(config, trust_remote_code=False))


def pretrained_module(encoder: str) -> HuggingFaceModel:
    """The transformer of an encoder `hf:...` with its weights, in float32 and evaluation mode."""
    config, source = load_config(encoder), encoder.removeprefix(PREFIX)
    from transformers import AutoModel

    try:
        with quiet():
            module, report = AutoModel.from_pretrained(
                model_folder(source),
                config=config,
                dtype=torch.float32,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except UNREADABLE as error:
        raise StoreError(f"model {source} cannot be loaded: {first_line(error)}") from error
    if missing := sorted(name for name in report["missing_keys"] if "pooler" not in name):
        raise SettingError(
            f"model {source} has no weights for {', '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}, which "
            "would be random. Name a model that was trained."
        )
    return _without_pooler(module).eval()


def piece_reader(encoder: str, module: HuggingFaceModel) -> PieceReader:
    """What cuts words into the pieces that the transformer of an encoder `hf:...` reads."""
    tokenizer = tokenizer_of(encoder)
    return PieceReader(tokenizer, longest_text(tokenizer, module))


def tokenizer_of(encoder: str) -> FastTokenizer:
    """The tokenizer of an encoder `hf:...`."""
    require_transformers()
    with quiet():
        return load_tokenizer(str(model_folder(encoder.removeprefix(PREFIX))))


def _without_pooler(module: HuggingFaceModel) -> HuggingFaceModel:
    """Without the layer over the first state, which nobody reads here and some models have no weights for."""
    if getattr(module, "pooler", None) is not None:
        module.pooler = None  # pyright: ignore[reportArgumentType]
    return module


# Hugging Face classifiers from a folder or a name; whatever cannot be audited is refused with a word on why.

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
    return load_inspected(source, module, tokenizer, longest=longest, transport=transport)


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
        module, missing = _load_encoder_module(folder, labels)
    prefix = f"{module.base_model_prefix}."
    if lost := sorted(key for key in missing if key.startswith(prefix) and "pooler" not in key):
        raise SettingError(
            f"model {name} must have the weights of its encoder; it has none for {', '.join(lost[:3])}"
            f"{' ...' if len(lost) > 3 else ''}. Is it a model of another kind, saved under this one's config.json?"
        )
    _check_padding(name, module, tokenizer)
    return module, tokenizer


def _load_encoder_module(folder: str, labels: Sequence[str]) -> tuple[HuggingFaceModel, list[str]]:
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
