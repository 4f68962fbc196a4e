"""State of a text on the page: words, weights, prediction, rankings and outcome."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.auditing.outcomes import BY_WORD
from heedful.battery.evidence import RANKINGS
from heedful.errors import SettingError
from heedful.explaining.explain import judged_outcomes, ranking_weights
from heedful.explaining.explanation import SIGNED
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.abilities import own_parts
from heedful.models.attention import masked_softmax
from heedful.report.heat_map import HeatMap
from heedful.schema import TextOutcome
from heedful.schema.rankings import ranking_title
from heedful.server.contract import (
    Decoded,
    ItemInfo,
    LargestChange,
    Prediction,
    RankedItems,
    ShownOutcome,
    Solver,
    TextState,
    WordInfo,
)
from heedful.settings import AuditSettings
from heedful.subjects.checks import SUM_TOLERANCE
from heedful.subjects.read_text import ReadText
from heedful.types import Encoded
from heedful.verdict.answer_text import BADGES, outcome_sentences

# Weights of words within the sentences of a hierarchical model, and predictions from changed ones.


def is_hierarchical(read: ReadText) -> bool:
    """Whether the model attends to sentences, and within them to words."""
    return read.item == "sentence"


def word_attention(read: ReadText) -> list[float]:
    """The weight of each word within its sentence."""
    return [weight for sentence in range(read.count) for weight in _states(read, sentence)[1].tolist()]


def encode_words(read: ReadText, given: Sequence[float]) -> Encoded:
    """The states of the sentences whose words have these weights.

    Args:
        given: a weight for each word; those of a sentence sum to 1.
    """
    if not is_hierarchical(read):
        raise SettingError(
            "word_attention cannot be combined with this model, which attends to words and not to sentences. Remove it."
        )
    if len(given) != len(read.words):
        raise SettingError(
            f"word_attention must have a weight for each of the text's {len(read.words)} words; it has {len(given)}."
        )
    encoder, vectors = _encoder(read), []
    for sentence, words in enumerate(read.items):
        own = [given[place] for place in words]
        if abs(sum(own) - 1) > SUM_TOLERANCE:
            raise SettingError(
                f"word_attention must sum to 1 within each sentence; in sentence {sentence + 1} it sums to "
                f"{sum(own):.6g}."
            )
        hidden, _ = _states(read, sentence)
        vectors.append(torch.tensor(own, dtype=hidden.dtype, device=hidden.device) @ hidden)
    encoded = read.evidence.trace.encoded
    return replace(encoded, hidden=encoder.sentences(torch.stack(vectors)[None], encoded.items))


def _encoder(read: ReadText) -> Any:
    parts = own_parts(read.evidence.model)
    return None if parts is None else parts.encoder


def _states(read: ReadText, sentence: int) -> tuple[Float[Tensor, "word hidden"], Float[Tensor, " word"]]:
    """The states of a sentence's words, and their weights; start and end symbols, which have none, left out."""
    encoder, batch = _encoder(read), read.evidence.trace.batch
    assert batch.sentence is not None
    own = batch.mask[0] & (batch.sentence[0] == sentence)
    weighable = batch.attendable_mask[0, own]
    embedded = read.evidence.trace.embedded[:, own]
    hidden = encoder.words(embedded, torch.ones_like(weighable)[None])
    attention = masked_softmax(encoder.word_attention.of(hidden), weighable[None])
    return hidden[0, weighable], attention[0, weighable]


# Predictions under modified attention, compared with the model's own.


def prediction_change(read: ReadText, logits: Float[Tensor, "1 classes"]) -> Prediction:
    """The prediction of these logits, compared with that of the text as it is."""
    evidence, probabilities, predicted = read.evidence, logits.softmax(-1), int(logits[0].argmax())
    return Prediction(
        logits=logits[0].tolist(),
        probabilities=probabilities[0].tolist(),
        predicted=predicted,
        label=evidence.context.labels[predicted],
        tvd=float(total_variation_distance(probabilities, evidence.probabilities)[0]),
        is_changed=predicted != int(evidence.predicted[0]),
    )


def divergence(read: ReadText, attention: Float[Tensor, "1 item"]) -> float:
    """Jensen-Shannon divergence of these weights from the model's own."""
    return float(js_divergence(attention, read.evidence.attention, read.evidence.items)[0])


# Predictions under any weights: the sliders.


def decode(read: ReadText, attention: Sequence[float], word_attention: Sequence[float] | None = None) -> Decoded:
    """The prediction under these weights.

    Args:
        word_attention: weights of the words within their sentences, for a hierarchical model; None: its own.
    """
    weights, evidence = read.weights(attention), read.evidence
    item_logits = None
    if word_attention is None:
        logits = evidence.decode(weights)
    else:
        encoded = encode_words(read, word_attention)
        logits = evidence.model.decode(encoded, weights.to(evidence.trace.attention)).cpu()
        if evidence.linear is not None:
            item_logits = evidence.linear.item_logits(encoded)[0].cpu()[read.real].tolist()
    moved = divergence(read, weights)
    return Decoded(**dict(prediction_change(read, logits)), jsd=moved, item_logits=item_logits)


def heat_map_of(read: ReadText, attention: Sequence[float] | None = None) -> HeatMap:
    """The words of the text with the weights of their items, and the prediction under these as its title.

    Args:
        attention: the weights; None: the model's own.
    """
    weights = read.evidence.attention if attention is None else read.weights(attention)
    own = read.evidence.trace.logits.cpu()
    reached = prediction_change(read, own if attention is None else read.evidence.decode(weights))
    of_word = {place: weight for words, weight in zip(read.items, read.listed(weights), strict=True) for place in words}
    return HeatMap(reached.answer, "", read.words, [of_word.get(place, 0.0) for place in range(len(read.words))])


# The outcome of a text, as the live page shows it: the same as in an audit.


def outcomes_of(read: ReadText, settings: AuditSettings) -> Mapping[str, TextOutcome]:
    """Outcomes of the text by ranking; computed once per text."""
    if not read.outcomes:
        read.outcomes.update(judged_outcomes(read.evidence, settings)[0])
    return read.outcomes


def shown_outcome(read: ReadText, settings: AuditSettings) -> ShownOutcome:
    """Attention's outcome, with the badge and sentences of every view."""
    outcome = outcomes_of(read, settings)["attention"]
    return ShownOutcome(
        **dict(outcome),
        badge=BADGES[outcome.outcome],
        sentences=list(outcome_sentences(outcome, read.labels, read.item)),
    )


# The most that any attention can move a prediction.

MOST_TRIED = 64
"""Items that are tried alone if the head is not linear, the most attended first."""


def widest_move(read: ReadText) -> LargestChange | None:
    """The largest move of the prediction, in total variation distance; None if there is a single item.

    With two classes and a linear head, the probability is a monotone function of the attention-weighted mean of the
    items' logits. The extremes are therefore single items: exact. With more classes a mixture might move it further:
    a bound. If the head is not linear, single items are tried: a search.
    """
    if read.count < 2:
        return None
    evidence = read.evidence
    places = read.real.nonzero()[:, 0]
    if evidence.item_logits is not None:
        logits = evidence.item_logits[0, places]
        solver: Solver = "exact" if logits.shape[1] == 2 else "bound"
    else:
        heaviest = evidence.attention[0, places].argsort(descending=True, stable=True)[:MOST_TRIED]
        places, solver = places[heaviest], "search"
        alone = torch.nn.functional.one_hot(places, evidence.items.shape[1]).to(evidence.attention)
        logits = evidence.decode_each(alone[None])[0]
    predictions = logits.softmax(-1)
    moved = total_variation_distance(predictions, evidence.probabilities.expand_as(predictions))
    best = int(moved.argmax())
    attention = torch.zeros_like(evidence.attention)
    attention[0, places[best]] = 1.0
    return LargestChange(tvd=float(moved[best]), solver=solver, attention=read.listed(attention))


# Rankings of a text's items, and human rationales.

MARKED = "human rationale"
COSTLY = ("gradient_x_input", "leave_one_out")
"""Rankings that take a pass through the encoder, or one per item."""
AFFORDABLE, AFFORDABLE_FOR_TRANSFORMERS = 40_000, 4_096
"""Items times words up to which costly rankings are computed: 200 words, and 64."""
JUDGING = 4
"""Passes per item that an outcome takes: outcomes are computed up to half of these lengths."""


def is_affordable(read: ReadText, passes: int = 1) -> bool:
    """Whether costly rankings of the text are computed while a person waits.

    Args:
        passes: through the encoder, per item.
    """
    most = AFFORDABLE if read.evidence.heads is None else AFFORDABLE_FOR_TRANSFORMERS
    return passes * read.count * len(read.words) <= most


def can_be_judged(read: ReadText) -> bool:
    """Whether the outcome of the text is computed while a person waits."""
    return is_affordable(read, JUDGING)


def rankings_of(read: ReadText, settings: AuditSettings, *, is_quick: bool = False) -> list[RankedItems]:
    """Attention, all rankings of an audit as far as they are affordable, and the human rationale if there is one.

    Args:
        settings: settings that judge the text.
        is_quick: whether to leave out costly rankings and outcomes, whatever the text.
    """
    evidence = read.evidence
    is_whole, is_judged = not is_quick and is_affordable(read), not is_quick and can_be_judged(read)
    weights = {
        name: read.listed(evidence.attention if name == "attention" else RANKINGS[name](evidence))
        for name in RANKINGS
        if name not in COSTLY or is_whole
    }
    outcomes = outcomes_of(read, settings) if is_judged else {}
    if outcomes and outcomes["attention"].outcome is not None:
        judged = outcomes["attention"]
        weights |= {name: list(ranking_weights(evidence, 0, name, judged, settings)) for name in BY_WORD}
    ranked = [
        RankedItems(
            name=name,
            title=ranking_title(name),
            is_signed=name in SIGNED,
            weights=[weight if math.isfinite(weight) else None for weight in own],
            badge=BADGES[outcomes[name].outcome] if name in outcomes else "",
        )
        for name, own in weights.items()
    ]
    if read.marks is not None:
        marked: list[float | None] = [sum(place in read.marks for place in words) / len(words) for words in read.items]
        ranked.append(RankedItems(name="rationale", title=MARKED, is_signed=False, weights=marked))
    return ranked


COSTLY_ITEMS = "Leave-one-out and gradient x input are left out: the text is too long to compute them while you wait."
UNJUDGED = "The text is too long to compute its outcome while you wait. Run `heedful explain` for it."


def state_of(read: ReadText, model: str, settings: AuditSettings, *, is_quick: bool = False) -> TextState:
    """The state of a text.

    Args:
        model: name of the model in requests.
        settings: settings of the model's audit, which judge the text.
        is_quick: whether to leave out the outcome and rankings that take passes through the encoder.
    """
    evidence, is_judged = read.evidence, can_be_judged(read)
    notes = [*read.notes, *([] if is_judged else [UNJUDGED]), *([] if is_affordable(read) else [COSTLY_ITEMS])]
    item_logits = evidence.item_logits
    return TextState(
        model=model,
        text=read.text,
        query=read.query,
        words=_words(read),
        items=[ItemInfo(words=list(words), label=label) for words, label in zip(read.items, read.labels, strict=True)],
        attention=read.listed(evidence.attention),
        word_attention=word_attention(read) if is_hierarchical(read) else None,
        logits=evidence.trace.logits[0].tolist(),
        probabilities=evidence.probabilities[0].tolist(),
        predicted=int(evidence.predicted[0]),
        item_logits=None if item_logits is None else item_logits[0, read.real].tolist(),
        empty_logits=None if item_logits is None else evidence.empty_logits[0].tolist(),
        widest=widest_move(read),
        rankings=rankings_of(read, settings, is_quick=is_quick),
        outcome=shown_outcome(read, settings) if is_judged and not is_quick else None,
        notes=notes,
    )


def _words(read: ReadText) -> list[WordInfo]:
    offsets = {False: utf16_offsets(read.text), True: utf16_offsets(read.query)}
    words = []
    for place, (word, (start, end), is_known) in enumerate(zip(read.words, read.spans, read.known, strict=True)):
        in_query = place >= read.second
        start, end = offsets[in_query][start], offsets[in_query][end]
        words.append(WordInfo(text=word, start=start, end=end, is_known=is_known, in_query=in_query))
    return words


def utf16_offsets(text: str) -> list[int]:
    """The number of UTF-16 code units before each character, and before the end.

    >>> utf16_offsets("a\N{GRINNING FACE}b")
    [0, 1, 3, 4]
    """
    return [0, *accumulate(1 + (ord(character) > 0xFFFF) for character in text)]
