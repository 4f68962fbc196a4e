"""What is audited: a model, and the texts as it reads them."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from heedful.attribution.external_scores import ExternalScores
from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.auditing.audited_texts import SOME, batches_of_run, chosen_texts
from heedful.auditing.checked_trace import checked_trace, validate_gradient, validate_trace
from heedful.auditing.validation import class_names, first_line, validate_batches, validate_device, validate_model
from heedful.auditing.words import OwnWords, resolve_words
from heedful.battery import Context
from heedful.data.batching import Batches, encode_split, to_device
from heedful.errors import DataError, HeedfulError, SettingError
from heedful.models.hugging_face.word_embedding import PretrainedWords
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.token_scores import counts_of_batches, token_counts
from heedful.training.metrics import outputs
from heedful.training.start import read_in_advance
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Example, Model, Trace

TRAINING, AUDITED = "the training texts", "the audited texts"
"""What label-indicative words may be counted on."""


@dataclass(frozen=True)
class Subject:
    """What is audited: a model, and the texts as it reads them.

    Args:
        name: of the model, in the rows: a run's key, or what the user calls it.
        texts: which examples of the split are read.
        batches: of these, each read when it is its turn; `Batch.index` says which example a row is.
        examples: the whole split, for its words; empty where nobody has them.
        context: what tests may need to know beyond the batches: task, labels, vocabulary.
        words: what the items of each text are called, by its number, where there are no examples.
        item: what attention weighs: "word" or "sentence".
        is_own: whether the model is a user's own, of which nothing is taken for granted.
        counted_on: the texts on which label-indicative words are counted.
        site, scope: of a transformer, which attention is shown, and where other attention is imposed.
        notes: what reading did to the texts, for the user to read.
        given: scores from outside.
        sentences: tokens of all sentences of the training texts, if attention weighs sentences of our own models.
    """

    name: str
    model: Model
    split: str
    texts: Sequence[int]
    batches: Batches
    context: Context
    examples: Sequence[Example] = ()
    words: Mapping[int, Sequence[str]] = field(default_factory=dict)
    item: str = "word"
    is_own: bool = False
    counted_on: str = TRAINING
    site: str | None = None
    scope: str | None = None
    notes: tuple[str, ...] = ()
    given: ExternalScores = field(default_factory=ExternalScores)
    sentences: Callable[[], Sequence[tuple[int, ...]]] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the classes are called."""
        return self.context.labels

    def part(self, chosen: range) -> "Subject":
        """The same with some of its batches alone."""
        return replace(self, batches=self.batches.part(chosen))

    def trace(self, model: Model, batch: Batch) -> Trace:
        """What a copy of the subject's model makes of the batch, checked."""
        return checked_trace(model, batch) if self.is_own else validate_trace(trace(model, batch))


def subject_of(
    name: str,
    trained: Trained,
    dataset: Dataset,
    settings: AuditSettings,
    *,
    device: str | None = None,
    reference: Trained | None = None,
) -> Subject:
    """A finished run and a data set, ready to be audited: a sample drawn by the audit's seed, or all texts.

    Args:
        reference: the run whose attention a model with frozen attention imposes.
    """
    where, dataset = validate_device(device) or torch.device("cpu"), readable_by(trained, dataset)
    examples = getattr(dataset, settings.split)
    if not examples:
        raise DataError(f"the data must have {settings.split} texts to audit; '{dataset.name}' has none.")
    model, texts = trained.model.to(where), chosen_texts(len(examples), settings)
    if isinstance(model.embedding, PretrainedWords):
        read_in_advance(model, {settings.split: encode_split([examples[text] for text in texts], trained.words)})
    imposed_attention = None
    if trained.run.network.attention == "frozen" and reference is not None:
        imposed_attention = outputs(reference.model, encode_split(examples, reference.words)).attention

    @cache
    def counts() -> Int[Tensor, "token classes"]:
        counted = dataset.train or [examples[text] for text in texts]
        parts = (encode_split(counted[start : start + SOME], trained.words) for start in range(0, len(counted), SOME))
        shape = trained.words.size, len(dataset.labels)
        return sum((token_counts(part, *shape) for part in parts), torch.zeros(shape, dtype=torch.long))

    @cache
    def sentences() -> list[tuple[int, ...]]:
        return [ids for example in dataset.train or examples for ids in _sentences(example, trained)]

    vectors = trained.run.network.vectors or ""
    context = Context(dataset.task, dataset.labels, trained.words.words, counts, vectors)
    return Subject(
        name=name,
        model=model,
        split=settings.split,
        texts=texts,
        batches=batches_of_run(trained, examples, texts, where, imposed_attention),
        context=context,
        examples=examples,
        item="sentence" if examples[0].sentences else "word",
        counted_on=TRAINING if dataset.train else AUDITED,
        sentences=sentences if examples[0].sentences else None,
    )


def _sentences(example: Example, trained: Trained) -> list[tuple[int, ...]]:
    """The tokens of each sentence of a text."""
    ends = (*example.sentences[1:], len(example.tokens))
    ids = trained.words.ids(example.tokens)
    return [tuple(ids[start:end]) for start, end in zip(example.sentences, ends, strict=True)]


def readable_by(trained: Trained, dataset: Dataset) -> Dataset:
    """The data with the labels in the run's order; refused where the run cannot read it or does not know a label."""
    has_query = trained.model.query_encoder is not None
    if has_query != (dataset.task != "classification"):
        reads = "a query with each text" if has_query else "texts without a query"
        raise DataError(f"the data must be of the run's kind: it reads {reads}; '{dataset.name}' is of {dataset.task}.")
    if dataset.labels == trained.labels:
        return dataset
    unknown = [label for label in dataset.labels if label not in trained.labels]
    if unknown:
        raise DataError(
            f"the data must have the run's labels, {', '.join(map(repr, trained.labels))}; '{dataset.name}' also has "
            f"{', '.join(map(repr, unknown[:5]))}. Rename these labels or leave out their texts (`data.only_labels`)."
        )
    place = [trained.labels.index(label) for label in dataset.labels]
    parts = {
        split: tuple(replace(example, label=place[example.label]) for example in getattr(dataset, split))
        for split in ("train", "dev", "test")
    }
    return replace(dataset, labels=trained.labels, **parts)


def subject_of_batches(
    name: str,
    model: Model,
    batches: Sequence[Batch],
    labels: Sequence[str] = (),
    *,
    words: OwnWords | None = None,
    device: str | None = None,
) -> Subject:
    """A user's own model and the batches that it is to be audited on, checked on the first of them.

    Args:
        labels: what the classes are called; empty: their numbers, as many as there are logits.
        words: what the tokens are, as `resolve_words` takes them.
        device: where it is measured; None: where it is.
    """
    model, batches, where = validate_model(model), validate_batches(batches), validate_device(device)
    if where is not None:
        model = _moved(model, where)
        batches = [to_device(batch, where) for batch in batches]
    copy = float64_eval_copy(model)
    with torch.no_grad():
        first = checked_trace(copy, batches[0])
    validate_gradient(copy, first)
    if not callable(getattr(copy, "delete", None)):
        item_of_token(first)  # refused if nothing says which tokens make up an item
    by_token = items_are_tokens(first)
    names = class_names(labels, first.logits.shape[1])
    vocabulary, by_text = resolve_words(words, batches, by_token=by_token)
    context = Context(labels=names, vocabulary=vocabulary, token_counts=partial(counts_of_batches, batches, len(names)))
    return Subject(
        name=name,
        model=model,
        split="test",
        texts=[index for batch in batches for index in batch.index.tolist()],
        batches=Batches(
            [len(batch.labels) for batch in batches],
            [int(batch.attendable_mask.sum()) for batch in batches],
            batches.__getitem__,
        ),
        context=context,
        words=by_text,
        item="word" if by_token else "sentence",
        is_own=True,
        counted_on=AUDITED,
    )


def _moved(model: Model, device: torch.device) -> Model:
    """A copy of the model on that device."""
    if isinstance(model, nn.Module):
        return _copied(model).to(device)
    if device.type != "cpu":
        raise SettingError(
            f"device must be left out where the model is no torch.nn.Module: move it to '{device}' yourself."
        )
    return model


def float64_eval_copy(model: Model) -> Model:
    """A copy in float64 and evaluation mode, where the model is a module; weights that are no numbers are named."""
    if not isinstance(model, nn.Module):
        return model
    for name, tensor in model.named_parameters():
        if not tensor.isfinite().all():
            raise HeedfulError(f"the model's parameter '{name}' holds NaN or infinite numbers: it cannot be audited.")
    try:
        return _copied(model).double().eval()
    except (TypeError, RuntimeError) as error:  # a device without float64
        raise SettingError(
            f"model must be where there is float64, in which it is measured: {first_line(error)}. Give device='cpu'."
        ) from error


def _copied(model: nn.Module) -> Any:
    try:
        return deepcopy(model)
    except Exception as error:  # what it holds may refuse, with whatever error
        raise SettingError(
            f"model must be one that can be copied: a copy of it is measured. Copying failed: {first_line(error)}. "
            "Keep no tensors of a forward pass, locks or open files in it."
        ) from error
