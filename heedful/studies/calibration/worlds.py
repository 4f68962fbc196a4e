"""Worlds of known truth: texts, and a model whose every item logit is known; attention is set from outside."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.battery.context import Context
from heedful.data.tokenizer import SPECIAL
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, Model

SHORTEST, LONGEST = 8, 16
INFORMATIVE, FILLERS, NEGATORS = 12, 60, 2
"""Words of each class that decide, words that hardly do, and words that turn round what follows them."""
STRENGTH, NOISE = 6.0, 0.2
"""How much an informative word adds to its class's logit, and the standard deviation of what a filler adds."""
TRAINING_TEXTS = 400


@dataclass(frozen=True)
class Drawn:
    """Texts drawn from a world, and the model that reads them.

    Args:
        batch: attention is still to be imposed.
        logits: of each item alone: what the model would predict with all weight on it.
        decision: what the model decides under the attention that it has of its own, uniform if none.
        context: with token counts of further texts of the same world.
    """

    model: Model
    batch: Batch
    logits: Float[Tensor, "batch item classes"]
    decision: Int[Tensor, " batch"]
    context: Context


@dataclass(frozen=True)
class World:
    """A way to make texts.

    Args:
        agreeing, disagreeing: informative words of the label's own class, and of another.
        uses_attention: whether the prediction depends on the weights at all.
        is_learnt: whether the labels are what the words say; else they are drawn at random.
        negates: whether some words turn round the meaning of the next.
    """

    name: str
    description: str
    classes: int = 2
    agreeing: int = 1
    disagreeing: int = 0
    uses_attention: bool = True
    is_learnt: bool = True
    negates: bool = False

    def draw(self, texts: int, generator: torch.Generator) -> Drawn:
        """So many texts, read by a model with random filler weights."""
        table = self._table(generator)
        tokens, mask, labels = self._texts(texts, generator)
        further, further_mask, further_labels = self._texts(TRAINING_TEXTS, generator)
        counts = _counts(further, further_mask, further_labels, len(table), self.classes)
        model = BagModel(table, negates=self.negates, mixes=not self.uses_attention)
        batch = Batch(torch.arange(texts), tokens, mask, mask, labels)
        own = trace(model, batch)
        names = tuple(f"class {number}" for number in range(self.classes))
        context = Context(labels=names, token_counts=lambda: counts)
        return Drawn(model, batch, model.item_logits(own.encoded), own.logits.argmax(-1), context)

    def _table(self, generator: torch.Generator) -> Float[Tensor, "token classes"]:
        """What each word adds to each class's logit, relative to the first class."""
        size = len(SPECIAL) + self.classes * INFORMATIVE + FILLERS + NEGATORS
        table = NOISE * torch.randn(size, self.classes, generator=generator, dtype=torch.float64)
        for label in range(self.classes):
            table[_words_of(label), label] += STRENGTH
        table[: len(SPECIAL)] = 0
        return table

    def _texts(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "text time"], Bool[Tensor, "text time"], Int[Tensor, " text"]]:
        lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator)
        mask = torch.arange(LONGEST) < lengths[:, None]
        first_filler = len(SPECIAL) + self.classes * INFORMATIVE
        tokens = torch.randint(first_filler, first_filler + FILLERS, (count, LONGEST), generator=generator)
        labels = torch.randint(self.classes, (count,), generator=generator)
        for row in range(count):
            tokens[row] = self._placed(tokens[row], int(lengths[row]), int(labels[row]), generator)
        if not self.is_learnt:
            labels = torch.randint(self.classes, (count,), generator=generator)
        return tokens * mask, mask, labels

    def _placed(
        self, tokens: Int[Tensor, " time"], length: int, label: int, generator: torch.Generator
    ) -> Int[Tensor, " time"]:
        """The text with its informative words put in: some of its own class, some of another."""
        own = [label] * self.agreeing
        others = torch.randint(1, self.classes, (self.disagreeing,), generator=generator)
        classes = own + [(label + int(other)) % self.classes for other in others]
        # Every other position, so that a negator fits before each.
        places = 1 + 2 * torch.randperm(length // 2, generator=generator)[: len(classes)]
        tokens = tokens.clone()
        for place, word_class in zip(places.tolist(), classes, strict=True):
            negated = self.negates and bool(torch.rand((), generator=generator) < 0.5)
            shown = (word_class + 1) % self.classes if negated else word_class
            tokens[place] = _words_of(shown).start + int(torch.randint(INFORMATIVE, (), generator=generator))
            if negated:
                tokens[place - 1] = len(SPECIAL) + self.classes * INFORMATIVE + FILLERS
        return tokens


def _words_of(label: int) -> range:
    start = len(SPECIAL) + label * INFORMATIVE
    return range(start, start + INFORMATIVE)


def _counts(
    tokens: Int[Tensor, "text time"],
    mask: Bool[Tensor, "text time"],
    labels: Int[Tensor, " text"],
    vocabulary: int,
    classes: int,
) -> Int[Tensor, "token classes"]:
    cells = tokens[mask] * classes + labels[:, None].expand_as(tokens)[mask]
    counts = cells.bincount(minlength=vocabulary * classes).reshape(vocabulary, classes)
    return torch.cat([torch.zeros_like(counts[: len(SPECIAL)]), counts[len(SPECIAL) :]])


class BagModel(nn.Module):
    """Each item's logits are known: its word's row of the table, turned round behind a negator; attention is imposed.

    Args:
        negates: whether the last words of the table turn round the next word: its classes move down by one.
        mixes: whether every item has the mean of all items' logits, so that no attention changes the prediction.
    """

    def __init__(self, table: Float[Tensor, "token classes"], *, negates: bool, mixes: bool):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(table)
        self.first_negator = len(table) - NEGATORS if negates else len(table)
        self.mixes = mixes

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The logits of each word."""
        return self.embedding(batch.tokens)

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Encoded:
        """The logits of each word where it stands."""
        before = nn.functional.pad(batch.tokens, (1, 0))[:, :-1]
        hidden = torch.where((before >= self.first_negator)[..., None], embedded.roll(-1, -1), embedded)
        if self.mixes:
            mean = (hidden * batch.mask[..., None]).sum(1) / batch.mask.sum(1, keepdim=True)
            hidden = mean[:, None].expand_as(hidden)
        return Encoded(hidden, batch.attendable)

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """The imposed attention; uniform where none is."""
        weights = batch.imposed_attention
        if weights is None:
            weights = encoded.items / encoded.items.sum(1, keepdim=True)
        weights = weights.to(encoded.hidden)
        return weights.log().masked_fill(~encoded.items, 0.0), weights

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """The weighted sum of the items' logits."""
        return (attention[:, None] @ encoded.hidden)[:, 0]

    def item_logits(self, encoded: Encoded) -> Float[Tensor, "batch item classes"]:
        """The logits of each item."""
        return encoded.hidden

    def empty_logits(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """Nothing says nothing."""
        return torch.zeros_like(encoded.hidden[:, 0])


BAG_WORLDS = (
    World("one word", "one informative word decides"),
    World("three agree", "three informative words agree: each alone would do", agreeing=3),
    World("disagreement", "three informative words against one of another class", agreeing=3, disagreeing=1),
    World("context", "half of the informative words are turned round by the word before", negates=True),
    World("three classes", "one informative word, three classes", classes=3),
    World("five classes", "two informative words against one, five classes", classes=5, agreeing=2, disagreeing=1),
    World("ignores attention", "the prediction is the same whatever the weights", uses_attention=False),
    World("guessing", "labels have nothing to do with the texts", is_learnt=False),
)
