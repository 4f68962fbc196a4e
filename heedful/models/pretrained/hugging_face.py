"""Types of transformers, which is imported only where a model is loaded or run."""

from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel as HuggingFaceModel
    from transformers import PreTrainedTokenizerFast as FastTokenizer
else:
    HuggingFaceModel = nn.Module
    FastTokenizer = Any

__all__ = ["FastTokenizer", "HuggingFaceModel"]
