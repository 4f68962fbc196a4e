"""Texts explained as a Hugging Face classifier reads them."""

from collections.abc import Sequence
from typing import Any

from heedful.auditing.classifier import subject_of_classifier
from heedful.auditing.decision import Described, explain_subject
from heedful.auditing.explanation import Explanation
from heedful.auditing.guidance import guidance_of, settings_of
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.tokenized_texts import Text, read_text
from heedful.schema import Verdict
from heedful.settings import AuditSettings
from heedful.types import Dataset, Example


def explain_with_classifier(model: TransformerModel, texts: Any, verdict: Verdict | None) -> tuple[Explanation, ...]:
    """The prediction for each text, or pair of texts, explained; in the order of the texts."""
    given = _texts(texts)
    labels = verdict.labels if verdict is not None else model.classifier.labels
    read = [read_for_classifier(model, text, number) for number, text in enumerate(given)]
    examples = tuple(example for example, _ in read)
    task = "nli" if any(example.query for example in examples) else "classification"
    dataset = Dataset("", "", task, model.classifier.labels, train=(), dev=(), test=examples)
    subject = subject_of_classifier(model, dataset, AuditSettings(examples=len(examples)), labels=labels)
    guidance = guidance_of(verdict, f"`heedful audit DATA --model {model.classifier.name}`")
    return explain_subject(
        subject, {number: known for number, (_, known) in enumerate(read)}, guidance, settings_of(verdict)
    )


def _texts(texts: Any) -> list[Text]:
    """A text, a pair, or a list of them, as a list."""
    is_pair = isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(part, str) for part in texts)
    given = [texts] if isinstance(texts, str) or is_pair else texts
    if not isinstance(given, Sequence) or not given:
        raise SettingError(f"texts must be a text, or a list of texts or pairs of texts; it is {texts!r:.60}.")
    for text in given:
        match text:
            case str() | (str(), str()):
                pass
            case _:
                raise SettingError(f"each text must be a string, or a pair of them; one is {text!r:.60}.")
    return list(given)


def read_for_classifier(model: TransformerModel, text: Text, number: int) -> tuple[Example, Described]:
    """The text as an example, and what the reader of its explanation should know."""
    reader = model.classifier.reader
    tokenized = read_text(reader, text, number)
    if not tokenized.words:
        raise DataError(f"text {number + 1} must have a word at least; it has none: {text!r:.60}.")
    first, second = (text, "") if isinstance(text, str) else text
    query = (second,) if second else ()
    notes = (
        [f"The model reads the first {reader.longest} tokens; the rest had no influence."] if tokenized.is_cut else []
    )
    example = Example(tokenized.words, 0, query, text=first, query_text=second)
    return example, Described(first, second, tokenized.words, "word", tuple(notes))
