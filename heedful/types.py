"""The data that flows, from text to findings. Frozen; none of it computes, and each says in a line what it is.

Fixed once, for all of Heedful: masks are True on the real thing; padding is on the right; attention is exactly 0
outside items; logarithms are natural; logits are always [batch classes], two classes for a binary task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

Task = Literal["classification", "nli", "qa"]
Split = Literal["train", "dev", "test"]
Solver = Literal["exact", "bound", "search"]

SHOWN_TOKENS = 8
"""Tokens of an example that its representation shows."""


@dataclass(frozen=True, slots=True, repr=False)
class Example:
    """One text and its label.

    Args:
        tokens: the words as the tokenizer cut them; never empty.
        query: hypothesis (nli) or question (qa); empty for classification.
        sentences: position in `tokens` at which each sentence begins, the first being 0; empty if not requested.
        rationale: positions in `tokens` of the human rationale, or of one that the data's maker gives; None if unknown.
        annotators: the rationale of each annotator; empty if there is none, or only one by the data's maker.
        text: what the user wrote; `WordTokenizer.split` finds the characters of each token in it again.
        query_text: the query as it was written.
        row: the number of the data row in its file, counted from 1 after the header (jsonl: the line); None if unknown.
        id: what the file's id column calls the row; None if it has no such column.
    """

    tokens: tuple[str, ...]
    label: int
    query: tuple[str, ...] = ()
    sentences: tuple[int, ...] = ()
    rationale: tuple[int, ...] | None = None
    text: str = ""
    query_text: str = ""
    row: int | None = None
    id: str | None = None
    annotators: tuple[tuple[int, ...], ...] = ()

    def __repr__(self) -> str:
        more = " ..." if len(self.tokens) > SHOWN_TOKENS else ""
        written = " ".join(self.tokens[:SHOWN_TOKENS])
        return f"Example({f'{written:.80}{more}'!r}, {_count(len(self.tokens), 'token')}, label {self.label})"


@dataclass(frozen=True, repr=False)
class Dataset:
    """Examples in three parts, with what their labels mean.

    Args:
        fingerprint: a hash of the content; an edited file is a different dataset.
        notes: what loading did to the rows, for the user to read ("7 empty texts dropped from train").
    """

    name: str
    fingerprint: str
    task: Task
    labels: tuple[str, ...]
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        labels = ", ".join(self.labels[:SHOWN_TOKENS]) + (" ..." if len(self.labels) > SHOWN_TOKENS else "")
        sizes = ", ".join(f"{len(getattr(self, split))} {split}" for split in ("train", "dev", "test"))
        return f"Dataset({self.name!r}: {sizes} texts; {_count(len(self.labels), 'label')}: {labels:.200})"


@dataclass(frozen=True, repr=False)
class Batch:
    """Examples as tensors.

    Args:
        index: which examples of the split these are.
        mask: what the encoder reads: all but padding.
        attendable_mask: what attention may weigh: never padding, nor a start or end symbol.
        sentence: index of the sentence that each token is in; hierarchical models only.
        imposed_attention: attention imposed from outside; frozen attention only.
        marks: 1 at the tokens that each annotator marked, 0 at others, NaN throughout for annotators that a text does
            not have; None if no text has a rationale.
    """

    index: Int[Tensor, " batch"]
    tokens: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"]
    attendable_mask: Bool[Tensor, "batch time"]
    labels: Int[Tensor, " batch"]
    query_tokens: Int[Tensor, "batch query"] | None = None
    query_mask: Bool[Tensor, "batch query"] | None = None
    sentence: Int[Tensor, "batch time"] | None = None
    imposed_attention: Float[Tensor, "batch item"] | None = None
    marks: Float[Tensor, "batch annotator time"] | None = None

    def __repr__(self) -> str:
        return _shapes("Batch", self)


@dataclass(frozen=True, repr=False)
class Encoded:
    """What attention weighs: one hidden state an item (a token, or a sentence of a hierarchical model)."""

    hidden: Float[Tensor, "batch item hidden"]
    items: Bool[Tensor, "batch item"]
    query: Float[Tensor, "batch hidden"] | None = None

    def __repr__(self) -> str:
        return _shapes("Encoded", self)


@dataclass(frozen=True, repr=False)
class Trace:
    """Everything a model computed on its way from a batch to its logits."""

    batch: Batch
    embedded: Float[Tensor, "batch time embed"]
    encoded: Encoded
    scores: Float[Tensor, "batch item"]
    attention: Float[Tensor, "batch item"]
    logits: Float[Tensor, "batch classes"]

    def __repr__(self) -> str:
        return _shapes("Trace", self)


@dataclass(frozen=True, repr=False)
class Reference:
    """Predictions and attention of a reference run (or the mean over several) for one batch: computed once.

    Args:
        leave_one_out: how far its prediction moves without each item; NaN if nothing is left. Only for methods that
            ask for it.
    """

    attention: Float[Tensor, "batch item"]
    logits: Float[Tensor, "batch classes"]
    leave_one_out: Float[Tensor, "batch item"] | None = None

    def __repr__(self) -> str:
        return _shapes("Reference", self)


@dataclass(frozen=True, repr=False)
class Findings:
    """What one test found; undefined values are NaN.

    Args:
        values: one number per text.
        solver: how they were answered.
        items: one number per item, for the texts that are shown word by word.
        substitutions: the words that were replaced, as (word, its replacement), each pair once per text.
        synonym_source: where the replacements come from, as a sentence.
        skipped: why the test cannot be done here, as a sentence; there are no values then.
        solvers: how single values were answered, where otherwise than the rest.
    """

    values: Mapping[str, Float[Tensor, " batch"]] = field(default_factory=dict)
    solver: Solver = "exact"
    items: Mapping[str, Float[Tensor, "batch item"]] = field(default_factory=dict)
    substitutions: Sequence[tuple[str, str]] = ()
    synonym_source: str = ""
    skipped: str = ""
    solvers: Mapping[str, Solver] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Findings({', '.join(self.values) or self.skipped!r:.200}; {self.solver})"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _shapes(name: str, parts: object) -> str:
    """The shape of every tensor that it holds; of anything else, its kind."""
    shown = {
        field.name: tuple(shape) if (shape := getattr(part, "shape", None)) is not None else type(part).__name__
        for field in fields(parts)  # pyright: ignore[reportArgumentType]
        if (part := getattr(parts, field.name)) is not None
    }
    return f"{name}({', '.join(f'{part} {shape}' for part, shape in shown.items())})"


@runtime_checkable
class Model(Protocol):
    """Any model that Heedful can audit: four verbs, and two more where all after attention is linear.

    With those two it is a `LinearModel` and gets exact answers; others get the same tests by search.
    """

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The vector of each token."""
        ...

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Encoded:
        """The hidden state of each item."""
        ...

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """Scores, and the attention they give: rows that sum to 1, exactly 0 outside items."""
        ...

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """Logits of the items weighted by any attention."""
        ...


@runtime_checkable
class LinearModel(Model, Protocol):
    """A model whose logits are sum over items of attention x item_logits, wherever attention sums to 1."""

    def item_logits(self, encoded: Encoded) -> Float[Tensor, "batch item classes"]:
        """What the model would say if all weight were on that item."""
        ...

    def empty_logits(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """Logits if nothing is left: the head applied to the zero vector."""
        ...
