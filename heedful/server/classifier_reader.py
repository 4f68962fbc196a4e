"""Texts as a Hugging Face classifier reads them."""

from heedful.auditing.checked_trace import validate_trace
from heedful.auditing.explain_classifier import read_for_classifier
from heedful.battery import Evidence
from heedful.battery.evidence import Context
from heedful.errors import DataError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.tokenized_texts import batch_of, read_text
from heedful.models.trace import trace
from heedful.server.reading import ReadText, check_text, cut_to_length, written


class ClassifierReader:
    """Reads texts, or pairs of texts, with a view of a classifier.

    Args:
        labels: what the classes are called.
        has_query: whether it was trained on pairs of texts.
    """

    def __init__(self, model: TransformerModel, labels: tuple[str, ...], *, has_query: bool = False):
        self.model, self.has_query = model, has_query
        self.context = Context("nli" if has_query else "classification", tuple(map(written, labels)))

    def __call__(self, text: str, query: str = "") -> ReadText:
        """The text as the model reads it."""
        check_text(text, query, has_query=self.has_query, may_have_query=True)
        reader = self.model.classifier.reader
        alone = read_text(reader, text, 0)
        if not alone.words:
            raise DataError("text must have a word at least; it has none that the model would read. Type one.")
        shown, notes = cut_to_length(text, alone.spans)
        pair = (shown, query) if query else shown
        example, described = read_for_classifier(self.model, pair, 0)
        tokenized = read_text(reader, pair, 0)
        batch = batch_of([tokenized], [0], [0], self.model.classifier.network.device)
        seen = validate_trace(trace(self.model, batch))
        return ReadText(
            text=shown,
            query=query,
            words=example.tokens,
            spans=tokenized.spans,
            known=(True,) * len(example.tokens),
            items=tuple((place,) for place in range(len(example.tokens))),
            labels=described.items,
            evidence=Evidence(self.model, seen, self.context),
            notes=(*notes, *described.notes),
            second=tokenized.second,
        )
