"""Everything that the page shows of a text."""

from heedful.server.contract import ItemInfo, TextState, WordInfo
from heedful.server.hierarchy import is_hierarchical, word_attention
from heedful.server.outcomes import shown_outcome
from heedful.server.rankings import can_be_judged, is_affordable, rankings_of
from heedful.server.reading import ReadText
from heedful.server.widest import widest_move
from heedful.settings import AuditSettings

COSTLY = "Leave-one-out and gradient x input are left out: the text is too long to compute them while you wait."
UNJUDGED = "The text is too long to judge while you wait. Run `heedful explain` for its outcome."


def state_of(read: ReadText, model: str, settings: AuditSettings, *, is_quick: bool = False) -> TextState:
    """The state of a text.

    Args:
        model: what requests call the model.
        settings: by which the text is judged: those of the model's audit.
        is_quick: whether to leave out what takes passes through the encoder.
    """
    evidence = read.evidence
    is_linear = evidence.item_logits is not None
    notes = [*read.notes, *([] if can_be_judged(read) else [UNJUDGED])]
    notes += [] if is_affordable(read) else [COSTLY]
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
        item_logits=evidence.item_logits[0, read.real].tolist() if evidence.item_logits is not None else None,
        empty_logits=evidence.empty_logits[0].tolist() if is_linear else None,
        widest=widest_move(read),
        rankings=rankings_of(read, settings, is_quick=is_quick),
        outcome=shown_outcome(read, settings) if can_be_judged(read) and not is_quick else None,
        notes=notes,
    )


def _words(read: ReadText) -> list[WordInfo]:
    words = []
    units = {False: utf16_offsets(read.text), True: utf16_offsets(read.query)}
    for place, (word, (start, end), is_known) in enumerate(zip(read.words, read.spans, read.known, strict=True)):
        in_query = place >= read.second
        of = units[in_query]
        words.append(WordInfo(text=word, start=of[start], end=of[end], is_known=is_known, in_query=in_query))
    return words


def utf16_offsets(text: str) -> list[int]:
    """How many UTF-16 code units stand before each character, and before the end.

    >>> utf16_offsets("a\N{GRINNING FACE}b")
    [0, 1, 3, 4]
    """
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets
