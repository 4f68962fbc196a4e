"""Words replaced instead of deleted: which words take their places, and what the model predicts then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from heedful.attribution.items import item_of_token, items_are_tokens, maps_tokens, of_similar_length
from heedful.attribution.subset_reader import Sets, softmax
from heedful.battery.evidence import Evidence
from heedful.data.batching import rows_of_batch
from heedful.errors import SettingError
from heedful.models.abilities import several_heads
from heedful.models.trace import trace as trace_of

TOKENS = 2**13
"""Tokens run in one batch."""
TRIES = 5
"""Draws of words for a text that a tokenizer splits into other words, before the text is left out."""

Segments = Sequence[tuple[int, ...]]
"""Tokens of each item of a text."""


@dataclass(frozen=True)
class Replacements:
    """Texts of a batch and, by row, the tokens that replace each item's own."""

    evidence: Evidence
    segments: dict[int, Segments]

    def probabilities(self, requests: dict[int, Sets]) -> dict[int, Float[ndarray, "set classes"]]:
        """Class probabilities of texts in which the items that are not in a set are replaced."""
        rows = np.repeat(list(requests), [len(sets) for sets in requests.values()])
        keep = [own for sets in requests.values() for own in sets]
        embedding = getattr(self.evidence.model, "embedding", None)
        if self.evidence.variant_reader is not None and isinstance(embedding, nn.Embedding):
            logits = self._by_reader(requests, embedding)
        else:
            logits = self._by_batches(rows.tolist(), keep)
        ends = np.cumsum([len(sets) for sets in requests.values()])[:-1]
        return dict(zip(requests, map(softmax, np.split(logits, ends)), strict=True))

    def _by_reader(self, requests: dict[int, Sets], embedding: nn.Embedding) -> Float[ndarray, "variant classes"]:
        """Through a recurrent network, at the cost of what changes."""
        evidence, reader = self.evidence, self.evidence.variant_reader
        assert reader is not None
        items, most = evidence.trace.encoded.items, max(map(len, requests.values()))
        changed, keep = torch.zeros_like(items), torch.zeros(len(items), most, items.shape[1], dtype=torch.bool)
        for row, sets in requests.items():
            changed[row] = items[row]
            keep[row, : len(sets)][:, items[row].cpu()] = torch.from_numpy(sets)
        tokens = torch.tensor([segment[0] for row in sorted(requests) for segment in self.segments[row]])
        vectors = embedding(tokens.to(items.device))
        logits = reader.logits_of_replaced(vectors, changed, keep).cpu()
        return torch.cat([logits[row, : len(sets)] for row, sets in requests.items()]).double().numpy()

    def _by_batches(
        self, rows: Sequence[int], keep: Sequence[Bool[ndarray, " item"]]
    ) -> Float[ndarray, "variant classes"]:
        """Each variant run as a text of its own."""
        model, trace = self.evidence.model, self.evidence.trace
        layouts = {row: _Layout.of(self.evidence, row, self.segments[row]) for row in dict.fromkeys(rows)}
        variants = [layouts[row].variant(left) for row, left in zip(rows, keep, strict=True)]
        logits = trace.logits.new_empty(len(rows), trace.logits.shape[1])
        device = trace.batch.tokens.device
        for some in of_similar_length(torch.tensor([len(tokens) for tokens, _, _ in variants]), TOKENS):
            chosen = [variants[number] for number in some.tolist()]
            tokens, word_ids, attendable_mask = (
                pad_sequence(list(part), batch_first=True) for part in zip(*chosen, strict=True)
            )
            lengths = torch.tensor([len(own) for own, _, _ in chosen])
            mask = torch.arange(tokens.shape[1]) < lengths[:, None]
            batch = rows_of_batch(trace.batch, torch.tensor(rows, device=device)[some.to(device)])
            imposed = batch.imposed_attention
            if imposed is not None and items_are_tokens(trace):
                imposed = imposed[:, : tokens.shape[1]]
            batch = replace(
                batch,
                imposed_attention=imposed,
                tokens=tokens.to(device),
                mask=mask.to(device),
                attendable_mask=attendable_mask.to(device),
                sentence=None if batch.sentence is None else word_ids.to(device),
                marks=None,
            )
            with torch.no_grad():
                logits[some.to(device)] = trace_of(model, batch).logits
        return logits.double().cpu().numpy()


@dataclass(frozen=True)
class _Layout:
    """A text as runs of tokens: those of each item, with the tokens that can replace them, and those of no item."""

    runs: Sequence[tuple[int, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]]

    @classmethod
    def of(cls, evidence: Evidence, row: int, segments: Segments) -> "_Layout":
        batch = evidence.trace.batch
        length = int(batch.mask[row].sum())
        tokens, attendable_mask = batch.tokens[row, :length].cpu(), batch.attendable_mask[row, :length].cpu()
        word_ids = item_of_token(evidence.trace)[row, :length].cpu()
        places = evidence.items[row].nonzero()[:, 0].tolist()
        number = {place: item for item, place in enumerate(places)}
        ends = [0, *(1 + (word_ids.diff() != 0).nonzero()[:, 0]).tolist(), length]
        runs = []
        for start, end in zip(ends[:-1], ends[1:], strict=True):
            own, item = (tokens[start:end], attendable_mask[start:end]), number.get(int(word_ids[start]), -1)
            runs.append((item, own, own if item < 0 else _with_symbols(*own, segments[item])))
        return cls(runs)

    def variant(self, left: Bool[ndarray, " item"]) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, the item of each, and whether attention may weigh it, of the text with the other items replaced."""
        chosen = [own if item < 0 or left[item] else new for item, own, new in self.runs]
        word_ids = [
            torch.full((len(tokens),), item) for (item, _, _), (tokens, _) in zip(self.runs, chosen, strict=True)
        ]
        return torch.cat([tokens for tokens, _ in chosen]), torch.cat(word_ids), torch.cat([own for _, own in chosen])


def _with_symbols(tokens: Tensor, attendable_mask: Tensor, segment: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Other tokens in place of those that attention may weigh; start and end symbols of the run stay."""
    real = attendable_mask.nonzero()[:, 0]
    if not len(real):
        return tokens, attendable_mask
    before, after = tokens[: int(real[0])], tokens[int(real[-1]) + 1 :]
    new = torch.cat([before, torch.tensor(segment, dtype=tokens.dtype), after])
    place = torch.arange(len(new))
    return new, (place >= len(before)) & (place < len(new) - len(after))


def draw_replacements(
    evidence: Evidence,
    generators: dict[int, np.random.Generator],
    sentences: Callable[[], Segments] | None,
    replace_with: str,
) -> Replacements:
    """Draw the replacement words, one for each position, for the texts of these rows.

    Args:
        generators: one generator per row.
        sentences: all sentences of the training texts, if attention weighs sentences of our own models.
        replace_with: "word", or "mask" for the mask token of a Hugging Face model.
    """
    if not maps_tokens(evidence.trace):
        return Replacements(evidence, {})
    if replace_with == "mask":
        drawn = {row: _masks(evidence, row) for row in generators}
    elif sentences is not None:
        drawn = {row: _other_sentences(evidence, row, sentences(), own) for row, own in generators.items()}
    elif evidence.context.item_words is not None:
        drawn = _other_words(evidence, generators)
    else:
        counts = evidence.context.token_counts().sum(1).cpu().numpy()
        drawn = {row: _other_tokens(evidence, row, counts, own) for row, own in generators.items()}
    return Replacements(evidence, {row: own for row, own in drawn.items() if own is not None})


def draw_words(
    counts: Int[ndarray, " word"], words: Int[ndarray, " item"], generator: np.random.Generator
) -> Int[ndarray, " item"] | None:
    """A different word for each, drawn by frequency; None if one has no other.

    >>> draw_words(np.array([0, 5, 1]), np.array([1, 2, -1]), np.random.default_rng(0)).tolist()
    [2, 1, 1]
    """
    total = counts.cumsum()
    own = np.where(words >= 0, counts[words.clip(0)], 0)
    if not len(total) or (total[-1] <= own).any():
        return None
    drawn = (generator.random(len(words)) * (total[-1] - own)).astype(np.int64)
    # The word's own share is cut out of the line on which the draw falls.
    drawn += np.where((words >= 0) & (drawn >= total[words.clip(0)] - own), own, 0)
    return np.searchsorted(total, drawn, side="right")


def _other_tokens(
    evidence: Evidence, row: int, counts: Int[ndarray, " token"], generator: np.random.Generator
) -> Segments | None:
    """Other tokens, as many as each item has."""
    batch = evidence.trace.batch
    attendable_mask = batch.attendable_mask[row].cpu()
    drawn = draw_words(counts, batch.tokens[row].cpu()[attendable_mask].numpy(), generator)
    if drawn is None:
        return None
    if items_are_tokens(evidence.trace):
        return [(token,) for token in drawn.tolist()]
    word_ids = item_of_token(evidence.trace)[row].cpu()[attendable_mask].tolist()
    places = evidence.items[row].nonzero()[:, 0].tolist()
    return [
        tuple(token for token, item in zip(drawn.tolist(), word_ids, strict=True) if item == place) for place in places
    ]


def _other_sentences(evidence: Evidence, row: int, pool: Segments, generator: np.random.Generator) -> Segments | None:
    """A different sentence for each of the text's own."""
    batch, word_ids = evidence.trace.batch, item_of_token(evidence.trace)[row]
    drawn = []
    for place in evidence.items[row].nonzero()[:, 0].tolist():
        own = tuple(batch.tokens[row][(word_ids == place) & batch.attendable_mask[row]].tolist())
        others = [sentence for number in generator.permutation(len(pool))[:TRIES] if (sentence := pool[number]) != own]
        if not others:
            return None
        drawn.append(others[0])
    return drawn


def _other_words(evidence: Evidence, generators: dict[int, np.random.Generator]) -> dict[int, Segments | None]:
    """Tokens of other words, read by the model's own tokenizer in the places of the text's own."""
    words, vocabulary = evidence.context.item_words, evidence.context.vocabulary
    assert words is not None
    counts = evidence.context.token_counts().sum(1).cpu().numpy()
    numbers = words.numbers(evidence.trace.batch).cpu()
    drawn: dict[int, Segments | None] = {}
    for row, generator in generators.items():
        number, own = int(evidence.trace.batch.index[row]), numbers[row][evidence.items[row]].numpy()
        for _ in range(TRIES):
            new = draw_words(counts, own, generator)
            written: dict[int, str] = {}
            if new is not None:
                written = {place: str(vocabulary[word]) for place, word in enumerate(new.tolist())}
            drawn[row] = words.tokens_of(number, written) if written else None
            if drawn[row] is not None:
                break
    return drawn


def _masks(evidence: Evidence, row: int) -> Segments:
    """The mask token, as often as each word has tokens."""
    model = several_heads(evidence.model)
    if model is None:
        raise SettingError("outcome.replace_with must be 'word': only Hugging Face models have a mask token.")
    mask = model.classifier.reader.tokenizer.mask_token_id
    if not isinstance(mask, int):
        raise SettingError(
            f"outcome.replace_with must be 'word': the tokenizer of {model.classifier.name} has no mask token."
        )
    vocabulary, word_ids = model.classifier.network.vocabulary, item_of_token(evidence.trace)[row]
    tokens = evidence.trace.batch.tokens[row] // vocabulary * vocabulary + mask
    places = evidence.items[row].nonzero()[:, 0].tolist()
    return [tuple(tokens[word_ids == place].tolist()) for place in places]
