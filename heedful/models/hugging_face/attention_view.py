"""A transformer at a site and a scope as a Heedful `Model`: words are its items, and its heads carry the weights."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import SettingError
from heedful.models.hugging_face.attention_hooks import AttentionHook, CallContext, CallValues, CallWeights
from heedful.models.hugging_face.classifier import Classifier, groups
from heedful.models.hugging_face.interventions import (
    Intervention,
    InterventionHook,
    InterventionSites,
    Reading,
    Recorder,
    Shown,
    unchanged,
)
from heedful.models.hugging_face.network import Inputs, Network
from heedful.models.hugging_face.single_row_decoder import RowRecorder, RowState, SingleRowDecoder
from heedful.models.hugging_face.sites import Scope, Site, check_site, parse_scope, parse_site
from heedful.types import Batch, Encoded

# What a transformer answers under other attention: by its last block alone, or by running the whole model again.

ROWS = 2**11
"""Rows sent through the last block at once."""
TOKENS = 2**13
"""Tokens sent through the whole model at once."""
WEIGHTS = 2**21
"""Weights that a head of all of these may have: long texts have the square of their length."""


@dataclass(frozen=True)
class EncodedPart:
    """Texts of a batch that were run together.

    Args:
        texts: which rows of the batch they are.
        state: what the one-row decoder needs; None if the whole model is run for each imposed attention.
    """

    texts: Int[Tensor, " some"]
    inputs: Inputs
    reading: Reading
    shown: Shown
    logits: Float[Tensor, "some classes"]
    state: RowState | None

    def text(self, number: int, count: int) -> "EncodedPart":
        """The text with this index in the batch; it has `count` words."""
        place = (self.texts == number).nonzero()[:, 0]
        inputs, reading = self.inputs.select(place), self.reading
        time = inputs.tokens.shape[1]
        state = None if self.state is None else replace(self.state.select(place), count=count)
        return EncodedPart(
            texts=torch.zeros_like(place),
            inputs=inputs,
            reading=Reading(
                inputs.mask,
                None if reading.rows is None else reading.rows[place],
                reading.word_ids[place, :time],
                reading.items[place, :count],
            ),
            shown=Shown(self.shown.words[place, :, :count], self.shown.special[place]),
            logits=self.logits[place],
            state=state,
        )


@dataclass(frozen=True)
class Decoder:
    """How one part of a batch is answered for.

    Args:
        places: where weights are changed.
        is_held: whether the weights count as constants, of which no derivative is taken.
    """

    network: Network
    one_row: SingleRowDecoder | None
    part: EncodedPart
    places: InterventionSites
    is_held: bool = True

    def logits(self, change: Intervention) -> Float[Tensor, "variant classes"]:
        """Logits under a change of each text, or several of each: those of the first text come first."""
        batch = len(self.part.texts)
        several = len(change.factor) // batch
        by_row = self.one_row is not None and self.part.state is not None
        time = self.part.inputs.tokens.shape[1]
        most = ROWS if by_row else max(1, min(TOKENS // time, WEIGHTS // time**2))
        answers = []
        for texts in torch.arange(batch, device=change.factor.device).split(max(1, most // several)):
            variants = torch.arange(several, device=texts.device).split(most)
            answer = [self._some(texts, change.select(_rows(texts, some, several))) for some in variants]
            answers.append(torch.cat([part.unflatten(0, (len(texts), -1)) for part in answer], 1).flatten(0, 1))
        return torch.cat(answers)

    def _some(self, texts: Int[Tensor, " some"], change: Intervention) -> Float[Tensor, "variant classes"]:
        if self.one_row is not None and self.part.state is not None:
            state = self.part.state.held if self.is_held else self.part.state
            state = state if len(texts) == len(self.part.texts) else state.select(texts)
            return self.one_row.logits(state, change)
        each = texts.repeat_interleave(len(change.factor) // len(texts))
        places, word_ids = self.places.select(each), self.part.reading.word_ids[each]
        listener = InterventionHook(change, places, word_ids, self.network.dtype, self.is_held)
        inputs = self.part.inputs
        embedded = None if inputs.embedded is None else inputs.embedded[each]
        return self.network.logits(Inputs(inputs.tokens[each], inputs.mask[each], embedded), listener).double()


def _rows(texts: Int[Tensor, " some"], variants: Int[Tensor, " several"], count: int) -> Int[Tensor, " rows"]:
    """Where these variants of these texts stand among all, of which each text has `count`."""
    return (texts[:, None] * count + variants).flatten()


@dataclass(frozen=True, kw_only=True)
class EncodedTexts(Encoded):
    """What a transformer made of a batch; `hidden` is the value (one row) or the embedding of each word.

    It extends `Encoded` because `decode` is given nothing else, and may have to run the whole model again.

    Args:
        attention: what is shown: over the words alone, each text's adding up to 1.
        change: how the heads' weights are changed before any other attention is imposed.
    """

    parts: tuple[EncodedPart, ...]
    attention: Float[Tensor, "batch item"]
    change: Intervention

    def text(self, number: int) -> "EncodedTexts":
        """A single text of the batch, without the places of words that only others have."""
        count = int(self.items[number].sum())
        (part,) = [part.text(number, count) for part in self.parts if bool((part.texts == number).any())]
        change = self.change.select(torch.tensor([number], device=self.items.device)).first_words(count)
        row = slice(number, number + 1)
        return EncodedTexts(
            hidden=self.hidden[row, :count],
            items=self.items[row, :count],
            parts=(part,),
            attention=self.attention[row, :count],
            change=change,
        )

    def several(self, count: int) -> Intervention:
        """The change, repeated `count` times for each text."""
        return self.change.select(torch.arange(len(self.items), device=self.items.device).repeat_interleave(count))

    @property
    def is_own(self) -> bool:
        """Whether the heads' weights are the model's own."""
        return self.change.permutation is None and self.change.imposed is None


class TransformerModel:
    """A view of a classifier: the attention of one site, and other attention imposed in one scope.

    Other attention over words is imposed by multiplying each word's weight by the same factor, (other attention) /
    (shown attention), in every head and row of the scope; a head's words keep the weight that they have together, and
    special tokens theirs. So a word is erased from all heads at once, the shown attention itself changes nothing, and
    no weight on any word means all weight on the special tokens. `imposing` and `permuting` change the heads first.

    Transformers are run in the precision they were loaded in; what follows the last layer's attention, and all that is
    returned, is in float64.
    """

    def __init__(self, classifier: Classifier, site: str | Site = "last", scope: str = "row"):
        self.classifier = classifier
        self.site = parse_site(site) if isinstance(site, str) else site
        self.scope: Scope = parse_scope(scope)
        anatomy = classifier.anatomy
        check_site(self.site, self.scope, anatomy, is_encoder_decoder=classifier.is_encoder_decoder)
        last = anatomy.layers - 1
        is_last = self.scope == "row" and set(self.site.layers_of(anatomy)) == {last}
        self.one_row = classifier.one_row if is_last else None
        self.projection = classifier.projection if self.site.kind == "value-norm" else None

    @property
    def is_cheap(self) -> bool:
        """Whether other attention costs one token through the last block, not the whole text through all blocks."""
        return self.one_row is not None

    @property
    def key(self) -> str:
        """What an audit of this view is called on disk: a hash of the classifier, the site and the scope."""
        return hashlib.sha256(f"{self.classifier.fingerprint} {self.site} {self.scope}".encode()).hexdigest()[:16]

    def at(self, site: str | Site = "last", scope: str = "row") -> "TransformerModel":
        """Another view of the same classifier."""
        return TransformerModel(self.classifier, site, scope)

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The vector of each token, before positions and segments are added."""
        return self.classifier.network.embed(batch.tokens).double()

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> EncodedTexts:
        """What the model computes up to the weights of the site, for the texts as they are."""
        if batch.sentence is None:
            raise SettingError(
                "batch must say in `sentence` which word each token belongs to (-1 for special tokens); it has none. "
                "Make batches by `read_texts`."
            )
        inputs = Inputs(batch.tokens, batch.mask, embedded)
        self.classifier.check(inputs)
        word_ids = batch.sentence.where(batch.mask, -1)
        items = _items(word_ids)
        parts = tuple(
            self._encode_part(inputs, word_ids, items, texts)
            for texts in groups(batch.mask, padding_is_ignored=self.classifier.anatomy.padding_is_ignored)
        )
        attention = _in_order([part.shown.attention for part in parts], parts)
        hidden = _in_order([_hidden(part) for part in parts], parts)
        change = replace(unchanged(items), heads=self._heads(items))
        return EncodedTexts(hidden=hidden, items=items, parts=parts, attention=attention, change=change)

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """The logarithm of the shown attention, and the shown attention: over the words alone, adding up to 1."""
        attention = _texts(encoded).attention
        scores = attention.where(attention > 0, 1.0).log()
        return scores.masked_fill((attention <= 0) & encoded.items, -torch.inf), attention

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """Logits under any attention over the words.

        Attention that is a constant is held fixed, in every head; otherwise its derivative is taken as that of a free
        variable.
        """
        texts = _texts(encoded)
        if attention is texts.attention and self.one_row is None and texts.is_own:
            return _in_order([part.logits for part in texts.parts], texts.parts)
        is_held = not attention.requires_grad
        shown = texts.attention.detach() if is_held else texts.attention
        return self._answers(texts, texts.change.moved_to(attention, shown), is_held=is_held)

    @torch.no_grad()
    def wordless_logits(self, batch: Batch) -> Float[Tensor, "batch classes"]:
        """Logits of the special tokens alone; NaN if a text has none."""
        assert batch.sentence is not None
        special = batch.mask & (batch.sentence < 0)
        known: dict[tuple[int, ...], Tensor] = {}
        rows = []
        for tokens, own in zip(batch.tokens, special, strict=True):
            left = tokens[own]
            if (key := tuple(left.tolist())) not in known:
                known[key] = self._wordless(left)
            rows.append(known[key])
        return torch.stack(rows)

    def _wordless(self, tokens: Int[Tensor, " time"]) -> Float[Tensor, " classes"]:
        network = self.classifier.network
        if not len(tokens):
            return torch.full((network.classes,), torch.nan, dtype=torch.float64, device=tokens.device)
        inputs = Inputs(tokens[None], torch.ones_like(tokens, dtype=torch.bool)[None])
        return network.logits(inputs)[0].double()

    @torch.no_grad()
    def decode_each(
        self, encoded: Encoded, attention: Float[Tensor, "batch variant item"]
    ) -> Float[Tensor, "batch variant classes"]:
        """Logits under several attentions of each text."""
        texts, several = _texts(encoded), attention.shape[1]
        change = texts.several(several).moved_to(attention.flatten(0, 1), texts.attention.repeat_interleave(several, 0))
        return self._answers(texts, change, is_held=True).unflatten(0, (-1, several))

    @torch.no_grad()
    def impose_each(
        self, encoded: Encoded, attention: Float[Tensor, "batch variant item"]
    ) -> Float[Tensor, "batch variant classes"]:
        """Logits with each of several attentions of each text in every head alike."""
        return self._each(_texts(encoded), attention.shape[1], imposed=attention.flatten(0, 1))

    @torch.no_grad()
    def permute_each(
        self, encoded: Encoded, permutation: Int[Tensor, "batch variant item"]
    ) -> Float[Tensor, "batch variant classes"]:
        """Logits with the words' weights exchanged in every head, in several ways for each text."""
        return self._each(_texts(encoded), permutation.shape[1], permutation=permutation.flatten(0, 1))

    def imposing(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> EncodedTexts:
        """The same texts with that attention in every head alike, as `attend` then shows it."""
        texts = _texts(encoded)
        change = replace(unchanged(texts.items), imposed=attention, heads=texts.change.heads)
        return replace(texts, attention=attention, change=change)

    def permuting(self, encoded: Encoded, permutation: Int[Tensor, "batch item"]) -> EncodedTexts:
        """The same texts with the words' weights exchanged in every head: word i gets those of word permutation[i]."""
        texts = _texts(encoded)
        change = replace(unchanged(texts.items), permutation=permutation, heads=texts.change.heads)
        return replace(texts, attention=texts.attention.gather(1, permutation), change=change)

    def special_weight(self, encoded: Encoded) -> Float[Tensor, " batch"]:
        """The share of all weight that falls on special tokens, on average over heads."""
        parts = _texts(encoded).parts
        return _in_order([part.shown.special.mean(1) for part in parts], parts)

    def places(self, reading: Reading) -> InterventionSites:
        """Where other attention is imposed."""
        anatomy = self.classifier.anatomy
        rows = None if self.scope == "all-rows" else reading.rows
        layers = self.site.layers_of(anatomy) if self.scope == "row" else range(anatomy.layers)
        return InterventionSites(frozenset(layers), rows)

    def _heads(self, items: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch head"] | None:
        """The heads in which other attention is imposed: that of the site alone, in scope `row`; None: all."""
        if self.scope != "row" or self.site.layer is None or self.site.head is None:
            return None
        count = self.classifier.anatomy.calls[self.site.layer].heads
        return (torch.arange(count, device=items.device) == self.site.head).expand(len(items), -1)

    def _encode_part(
        self, inputs: Inputs, word_ids: Int[Tensor, "batch time"], items: Tensor, texts: Int[Tensor, " some"]
    ) -> EncodedPart:
        part = inputs.select(texts)
        anatomy = self.classifier.anatomy
        reading = Reading(part.mask, anatomy.rows.of(part.mask), word_ids[texts, : part.tokens.shape[1]], items[texts])
        recorder = Recorder(self.site, anatomy.layers, reading, self.projection)
        if self.one_row is None:
            logits = self.classifier.network.logits(part, recorder).double()
            return EncodedPart(texts, part, reading, recorder.shown, logits, None)
        rows = RowRecorder(anatomy, reading)
        with self.one_row.hearing_rows(rows):
            logits = self.classifier.network.logits(part, _Both(recorder, rows)).double()
        return EncodedPart(texts, part, reading, recorder.shown, logits, rows.state(part.tokens))

    def _each(self, texts: EncodedTexts, several: int, **other: Tensor) -> Float[Tensor, "batch variant classes"]:
        """Logits with weights that replace the model's own, `several` variants per text."""
        own = texts.several(several)
        change = Intervention(torch.ones_like(own.factor), heads=own.heads, **other)
        return self._answers(texts, change, is_held=True).unflatten(0, (-1, several))

    def _answers(self, texts: EncodedTexts, change: Intervention, *, is_held: bool) -> Float[Tensor, "variant classes"]:
        """Logits under the change, of which there may be several for each text."""
        several, answers = len(change.factor) // len(texts.items), []
        for part in texts.parts:
            own = (part.texts[:, None] * several + torch.arange(several, device=part.texts.device)).flatten()
            decoder = Decoder(self.classifier.network, self.one_row, part, self.places(part.reading), is_held)
            answers.append(decoder.logits(change.select(own)).unflatten(0, (-1, several)))
        return _in_order(answers, texts.parts).flatten(0, 1)


class _Both(AttentionHook):
    """Two listeners, neither of which changes anything."""

    def __init__(self, *listeners: AttentionHook):
        self.listeners = listeners

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        for listener in self.listeners:
            listener.weights(call, weights)
        return weights

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        for listener in self.listeners:
            listener.context(call, weights, values)
        return None


def _texts(encoded: Encoded) -> EncodedTexts:
    if not isinstance(encoded, EncodedTexts):
        raise SettingError("encoded must be what this model's `encode` returned; it is of another model.")
    return encoded


def _items(word_ids: Int[Tensor, "batch time"]) -> Bool[Tensor, "batch item"]:
    """Where there is a word: as many places as the longest text has words."""
    count = int(word_ids.max()) + 1
    places = torch.zeros(len(word_ids), count + 1, dtype=torch.bool, device=word_ids.device)
    return places.scatter(1, word_ids.where(word_ids >= 0, count), True)[:, :-1]


def _hidden(part: EncodedPart) -> Float[Tensor, "some item hidden"]:
    """The value of each word, its heads side by side; or the mean of its tokens' embeddings."""
    if part.state is not None:
        return part.state.word_values.transpose(1, 2).flatten(2)
    embedded, count = part.inputs.embedded, part.reading.items.shape[1]
    assert embedded is not None
    word_ids = part.reading.word_ids
    is_of_word = (word_ids[:, None] == torch.arange(count, device=word_ids.device)[:, None]).to(embedded.dtype)
    return (is_of_word @ embedded) / is_of_word.sum(-1, keepdim=True).clamp_min(1)


def _in_order(values: Sequence[Float[Tensor, "_ *rest"]], parts: Sequence[EncodedPart]) -> Float[Tensor, "_ *rest"]:
    """Values of each part's texts, in the order of the batch."""
    return torch.cat(list(values))[torch.cat([part.texts for part in parts]).argsort()]
