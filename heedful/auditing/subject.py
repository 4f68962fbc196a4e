"""What is audited: a model, and the texts as it reads them."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial

import torch
from jaxtyping import Int
from torch import Tensor, nn

from heedful.battery import Context
from heedful.data.batching import collate, encode_split, in_order, to_device
from heedful.errors import HeedfulError, SettingError
from heedful.settings import AuditSettings
from heedful.token_scores import counts_of_batches, token_counts
from heedful.training.metrics import outputs
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Example, Model, Trace

BATCH = 32
SOME = 500
"""Texts audited by default where there are three classes or more, whose bounds take a linear programme each."""


@dataclass(frozen=True)
class Subject:
    """What is audited: a model, and the texts as it reads them.

    Args:
        name: of the model, in the rows: a run's key, or what the user calls it.
        texts: which examples of the split are read.
        batches: reads them anew, each once; `Batch.index` says which example a row is.
        examples: the whole split, for its words; empty where nobody has them.
        context: what tests may need to know beyond the batches: task, labels, vocabulary.
    """

    name: str
    model: Model
    split: str
    texts: Sequence[int]
    batches: Callable[[], Iterator[Batch]]
    context: Context
    examples: Sequence[Example] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the classes are called."""
        return self.context.labels

    @property
    def item(self) -> str:
        """What attention weighs: "word", or "sentence" where the examples have sentence boundaries."""
        return "sentence" if self.examples and self.examples[0].sentences else "word"


def subject_of(
    name: str,
    trained: Trained,
    dataset: Dataset,
    settings: AuditSettings,
    *,
    device: str = "cpu",
    reference: Trained | None = None,
) -> Subject:
    """A finished run and a data set, ready to be audited: a sample drawn by the audit's seed, or all texts.

    Args:
        reference: the run whose attention a model with frozen attention imposes.
    """
    examples = getattr(dataset, settings.split)
    split, where = encode_split(examples, trained.words), torch.device(device)
    imposed_attention = None
    if trained.run.network.attention == "frozen" and reference is not None:
        imposed_attention = outputs(reference.model, encode_split(examples, reference.words)).attention
    most = settings.examples or (len(examples) if len(dataset.labels) == 2 else SOME)
    texts = sorted(random_order(len(examples), settings.seed)[:most])

    def batches() -> Iterator[Batch]:
        for block in in_order([len(split.texts[i]) for i in texts], BATCH):
            yield to_device(collate(split, [texts[place] for place in block], imposed_attention), where)

    @cache
    def counts() -> Int[Tensor, "token classes"]:
        return token_counts(encode_split(dataset.train, trained.words), trained.words.size, len(dataset.labels))

    vectors = trained.run.network.vectors or ""
    context = Context(dataset.task, dataset.labels, trained.words.words, counts, vectors)
    return Subject(name, trained.model.to(where), settings.split, texts, batches, context, examples)


def subject_of_batches(name: str, model: Model, batches: Sequence[Batch], labels: Sequence[str]) -> Subject:
    """Any model with the protocol's verbs, and the batches it is to be audited on."""
    texts = [index for batch in batches for index in batch.index.tolist()]
    if len(set(texts)) < len(texts):
        raise SettingError("`index` must number the texts of all batches, each once; some number stands twice.")
    context = Context(labels=tuple(labels), token_counts=partial(counts_of_batches, batches, len(labels)))
    return Subject(name, model, "test", texts, lambda: iter(batches), context)


def float64_eval_copy(model: Model) -> Model:
    """A copy in float64 and evaluation mode, where the model is a module; weights that are no numbers are named."""
    if not isinstance(model, nn.Module):
        return model
    for name, tensor in model.named_parameters():
        if not tensor.isfinite().all():
            raise HeedfulError(f"the model's parameter '{name}' holds NaN or infinite numbers: it cannot be audited.")
    return deepcopy(model).double().eval()


def validate_trace(seen: Trace) -> Trace:
    """The trace, if its attention sums to 1 over the items and is 0 elsewhere, and each text has two logits or more."""
    attention, items = seen.attention, seen.encoded.items
    total = attention.where(items, 0.0).sum(1)
    wrong = ~((total - 1).abs() < 1e-4) | (attention.masked_fill(items, 0.0) != 0).any(1)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise HeedfulError(
            f"attention must sum to 1 over the items of each text and be 0 elsewhere; that of text "
            f"{int(seen.batch.index[row])} sums to {total[row].item():.4g} over its {int(items[row].sum())} items "
            f"(and to {attention[row].sum().item():.4g} over all places). Did `attend` return scores as attention?"
        )
    shape = tuple(seen.logits.shape)
    if len(shape) != 2 or shape[0] != len(items) or shape[1] < 2:
        raise HeedfulError(
            f"`decode` must return [batch, classes], a logit for each of two classes or more; of {len(items)} texts it "
            f"returned {shape}. With a single (sigmoid) logit z of shape [batch, 1], return [0, z]: "
            "torch.cat([torch.zeros_like(z), z], -1); from `item_logits` and `empty_logits` likewise."
        )
    if not seen.logits.isfinite().all():
        row = int((~seen.logits.isfinite()).any(1).nonzero()[0])
        raise HeedfulError(f"the model's logits of text {int(seen.batch.index[row])} are not numbers.")
    return seen


def random_order(count: int, seed: int) -> list[int]:
    """So many numbers from 0 on, in an order that the seed decides."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()
