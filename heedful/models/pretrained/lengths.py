"""How long a text a pretrained transformer can read."""

from torch import nn

from heedful.models.pretrained.hugging_face import FastTokenizer, HuggingFaceModel

UNLIMITED = 10**6
"""Tokenizers that know no limit give an astronomic one."""


def longest_text(tokenizer: FastTokenizer, module: HuggingFaceModel) -> int | None:
    """How many tokens the model reads at most; None where nothing limits it."""
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
