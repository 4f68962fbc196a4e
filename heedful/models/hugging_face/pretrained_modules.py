"""Hugging Face encoders to start fine-tuning from, with a classifier put on top."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from heedful.errors import HeedfulError, SettingError, StoreError
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
CLASSIFIER = "AutoModelForSequenceClassification"


def encoder_width(encoder: str) -> int:
    """How wide the states of an encoder `hf:...` are."""
    return load_config(encoder).hidden_size


def load_config(encoder: str) -> Any:
    """The configuration of an encoder `hf:...`; raises if it does not read a text by itself."""
    require_transformers()
    source = encoder.removeprefix(PREFIX)
    with quiet(), _refusing(source):
        config = _auto("AutoConfig").from_pretrained(model_folder(source), trust_remote_code=False)
    if config.is_encoder_decoder or not isinstance(getattr(config, "hidden_size", None), int):
        raise SettingError(
            f"encoder must be a Hugging Face model that gives each token a state; {source} is a {config.model_type}. "
            "Choose an encoder such as BERT, RoBERTa or MiniLM."
        )
    return config


def untrained_module(encoder: str) -> HuggingFaceModel:
    """The transformer of an encoder `hf:...` before its weights are loaded: nothing but its configuration is read."""
    config = load_config(encoder)
    with quiet():
        return _without_pooler(_auto("AutoModel").from_config(config, trust_remote_code=False))


def pretrained_module(encoder: str) -> HuggingFaceModel:
    """The transformer of an encoder `hf:...` with its weights, in float32 and evaluation mode."""
    source = encoder.removeprefix(PREFIX)
    config = load_config(encoder)
    with quiet(), _refusing(source):
        module, missing = _loaded("AutoModel", model_folder(source), config)
    _refuse_random(source, [name for name in missing if "pooler" not in name], "Name a model that was trained.")
    return _without_pooler(module).eval()


def _auto(name: str) -> Any:
    """A class of transformers, which takes seconds to import."""
    import transformers

    return getattr(transformers, name)


@contextmanager
def _refusing(source: str) -> Iterator[None]:
    """Say in a line why files cannot be loaded."""
    try:
        yield
    except HeedfulError:
        raise
    except UNREADABLE as error:
        raise StoreError(f"model {source} cannot be loaded: {first_line(error)}") from error


def _loaded(
    kind: str, source: str | Path, config: Any, dtype: torch.dtype = torch.float32, **options: Any
) -> tuple[HuggingFaceModel, list[str]]:
    """A module with its weights, from safetensors alone and without code of the files' own; which weights they lack."""
    module, report = _auto(kind).from_pretrained(
        source,
        config=config,
        dtype=dtype,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )
    return module, sorted(report["missing_keys"])


def _refuse_random(source: str, missing: Sequence[str], advice: str) -> None:
    if missing:
        names = f"{', '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}"
        raise SettingError(f"model {source} has no weights for {names}, which would be random. {advice}")


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
    """Without the layer over the first state, which is unused here and for which some models have no weights."""
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
        with _refusing(source):
            config = _auto("AutoConfig").from_pretrained(source, trust_remote_code=False)
            check_kind(source, config)
            module, missing = _loaded(CLASSIFIER, source, config, dtype)
        _refuse_random(source, missing, "It is no classifier that was trained: fine-tune it, or name another.")
        label_names(module)
        tokenizer = load_tokenizer(source)
    module.to(torch.device(device))  # pyright: ignore[reportArgumentType]
    return load_inspected(source, module, tokenizer, longest=longest, transport=transport)


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
    names = dict(enumerate(labels))
    with quiet():
        tokenizer = load_tokenizer(folder)
        with _refusing(folder):
            config = _auto("AutoConfig").from_pretrained(
                folder,
                trust_remote_code=False,
                id2label=names,
                label2id={label: number for number, label in names.items()},
                problem_type="single_label_classification",
            )
            check_kind(folder, config)
            module, missing = _loaded(CLASSIFIER, folder, config, ignore_mismatched_sizes=True)
    prefix = f"{module.base_model_prefix}."
    lost = [key for key in missing if key.startswith(prefix) and "pooler" not in key]
    _refuse_random(name, lost, "Is it a model of another kind, saved under this one's config.json?")
    config = module.config
    if tokenizer.pad_token_id is None or config.pad_token_id is None:
        raise SettingError(
            f"model {name} must have a padding token, so that texts of different lengths make a batch; it has none. "
            "Set `pad_token` in its tokenizer_config.json and `pad_token_id` in its config.json."
        )
    return module, tokenizer
