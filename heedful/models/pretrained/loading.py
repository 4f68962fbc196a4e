"""Pretrained transformers loaded as encoders: configuration, module, tokenizer."""

from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import SettingError, StoreError
from heedful.models.pretrained.files import PREFIX, first_line, load_tokenizer, quiet, require_transformers
from heedful.models.pretrained.fingerprint import model_folder
from heedful.models.pretrained.hugging_face import FastTokenizer, HuggingFaceModel
from heedful.models.pretrained.lengths import longest_text
from heedful.models.pretrained.pieces import PieceReader

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
