"""Texts with other words in the place of some, read anew: a word may have more pieces than the one it replaces."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.models.transformers.classifier import Classifier
from heedful.models.transformers.texts import Text, batch_of, read_text
from heedful.models.transformers.words import TokenizedText
from heedful.types import Batch


def rewritten(
    classifier: Classifier, texts: Sequence[Text], batch: Batch, replaced: Sequence[Mapping[int, str]]
) -> tuple[Batch, Bool[Tensor, " batch"]]:
    """The batch with words replaced, and the texts in which this could be done.

    A text that is not cut into the same number of words afterwards keeps its own, so that attention before and after
    is over the same items.

    Args:
        texts: all that were read, which `batch.index` numbers.
        replaced: the new word for each position of a word, for each text of the batch; none to leave it as it is.
    """
    read: list[TokenizedText] = []
    done = torch.zeros(len(replaced), dtype=torch.bool, device=batch.tokens.device)
    numbers: list[int] = batch.index.tolist()
    for row, (number, new) in enumerate(zip(numbers, replaced, strict=True)):
        own = read_text(classifier.reader, texts[number], number)
        other = read_text(classifier.reader, with_words(texts[number], own, new), number)
        is_kept = len(other.words) == len(own.words) and other.second == own.second
        read.append(other if is_kept else own)
        done[row] = is_kept and bool(new)
    return batch_of(read, numbers, batch.labels.tolist(), batch.tokens.device), done


def with_words(text: Text, tokenized: TokenizedText, new: Mapping[int, str]) -> Text:
    """The text with new words written in the place of others, by their positions."""
    parts = [text] if isinstance(text, str) else list(text)
    for position in sorted(new, reverse=True):
        start, end = tokenized.spans[position]
        which = int(position >= tokenized.second)
        written = parts[which][start:end]
        # A byte-level word may begin with the space before it.
        space = written[: len(written) - len(written.lstrip())]
        parts[which] = parts[which][:start] + space + new[position] + parts[which][end:]
    return parts[0] if isinstance(text, str) else (parts[0], parts[1])
