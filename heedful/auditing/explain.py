"""Texts explained, as a model reads them: strings for a finished run, batches for any other model."""

from collections.abc import Sequence
from typing import cast

from heedful.auditing.audit import Audit
from heedful.auditing.decision import Described, explain_subject
from heedful.auditing.explain_classifier import explain_with_classifier
from heedful.auditing.explanation import Explanation
from heedful.auditing.guidance import guidance_of, settings_of
from heedful.auditing.rows import item_names
from heedful.auditing.subject import subject_of, subject_of_batches
from heedful.auditing.validation import validate_model
from heedful.auditing.words import OwnWords
from heedful.data.sentences import sentence_starts
from heedful.data.sources.columns import QUERIES
from heedful.data.tokenizer import UNKNOWN
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.schema import Verdict
from heedful.settings import AuditSettings, Run, key_of
from heedful.training.trained import Trained
from heedful.types import Batch, Dataset, Example, Model, Task

Texts = str | Batch | Sequence[str] | Sequence[tuple[str, str]] | Sequence[Batch]
"""A text or several; (text, query) where the model reads a query; batches for a model of the user's own."""
MOST_NAMED = 5
"""Unknown words that a note lists."""
LONGEST = 40
"""Characters of such a word that are shown."""


def explain_texts(
    model: Trained | Model,
    texts: Texts,
    *,
    audit: Audit | Verdict | None = None,
    words: OwnWords | None = None,
    labels: Sequence[str] = (),
    reference: Trained | None = None,
    device: str | None = None,
) -> tuple[Explanation, ...]:
    """The model's prediction for each text, explained; in the order of the texts.

    Args:
        audit: the model's audit, by whose settings texts are judged and which recommends the ranking to show.
        words: of a model of the user's own, as `heedful.audit` takes them.
        labels: names of its classes, if the audit has none.
        reference: the run whose attention a run with frozen attention imposes.
    """
    if not isinstance(model, Trained):
        validate_model(model)
    verdict = _verdict(model, audit)
    if isinstance(model, TransformerModel):
        if words or labels:
            raise SettingError("words and labels must be left out: a Hugging Face model knows them.")
        return explain_with_classifier(model, texts, verdict)
    if not isinstance(model, Trained):
        return _explain_own(model, texts, verdict, words, labels, device)
    if words or labels:
        raise SettingError("words and labels must be left out: they are for a model of your own, and this is a run.")
    return _explain_run(model, texts, verdict, reference, device)


def described_model(model: Trained | Model, audit: Audit | Verdict | None = None) -> dict[str, str]:
    """What the model is, by name: a model of the user's own as its audit calls it."""
    if isinstance(model, TransformerModel):
        return {"Model": model.classifier.name, "Attention": str(model.site), "Scope": model.scope}
    if not isinstance(model, Trained):
        verdict = audit.verdict if isinstance(audit, Audit) else audit
        return {"Model": type(model).__name__ if verdict is None else verdict.model}
    network, seed = model.run.network, f" (seed {model.run.seed})"
    return {
        "Model": f"{network.encoder}, {network.attention} attention",
        "Data": model.run.data.source,
        "Run": key_of(model.run) + seed,
    }


def _verdict(model: Trained | Model, audit: Audit | Verdict | None) -> Verdict | None:
    """What the audit says, if it is one of this model."""
    if audit is None:
        return None
    if not isinstance(audit, Audit | Verdict):
        raise SettingError(f"audit must be what `heedful.audit` returns, or its verdict; it is {audit!r:.60}.")
    verdict = audit.verdict if isinstance(audit, Audit) else audit
    name = key_of(model.run) if isinstance(model, Trained) else type(model).__name__
    name = model.key if isinstance(model, TransformerModel) else name
    own = verdict.settings.get("model")
    if name not in {verdict.run, own, *(training.run for training in verdict.trainings)}:
        raise SettingError(f"audit must be one of this model, {name}; it is one of {verdict.run}.")
    return verdict


def _explain_run(
    trained: Trained, texts: Texts, verdict: Verdict | None, reference: Trained | None, device: str | None
) -> tuple[Explanation, ...]:
    key = key_of(trained.run)
    guidance = guidance_of(verdict, f"`heedful audit --model {key}`")
    read = [
        read_for_run(trained, text, query, place) for place, (text, query) in enumerate(_pairs(trained, texts), start=1)
    ]
    examples = tuple(example for example, _ in read)
    dataset = Dataset("", "", task_of(trained), trained.labels, train=(), dev=(), test=examples)
    settings = AuditSettings(examples=len(examples))
    subject = subject_of(key, trained, dataset, settings, device=device, reference=reference)
    return explain_subject(
        subject, {number: known for number, (_, known) in enumerate(read)}, guidance, settings_of(verdict)
    )


def _explain_own(
    model: Model,
    texts: Texts,
    verdict: Verdict | None,
    words: OwnWords | None,
    labels: Sequence[str],
    device: str | None,
) -> tuple[Explanation, ...]:
    batches = [texts] if isinstance(texts, Batch) else texts
    is_batches = isinstance(batches, Sequence) and all(isinstance(batch, Batch) for batch in batches)
    if not is_batches or not batches:
        raise SettingError(
            "texts must be a `Batch` or a list of them for a model of your own: only you can number its tokens. It is "
            f"{texts!r:.60}."
        )
    names = labels or (verdict.labels if verdict is not None else ())
    own = cast(Sequence[Batch], batches)
    subject = subject_of_batches(type(model).__name__, model, own, names, words=words, device=device)
    described = {
        number: Described(" ".join(named), items=tuple(named), item=subject.item)
        for number, named in subject.words.items()
    }
    guidance = guidance_of(verdict, "`heedful.audit(model, batches)` and pass the result as `audit`")
    return explain_subject(
        subject, dict.fromkeys(subject.texts, Described()) | described, guidance, settings_of(verdict)
    )


def _pairs(trained: Trained, texts: Texts) -> list[tuple[str, str]]:
    """Each text with its query, which is empty where the model reads none."""
    has_query = trained.model.query_encoder is not None
    is_pair = has_query and isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(t, str) for t in texts)
    given = [texts] if isinstance(texts, str) or is_pair else texts
    wanted = "a pair (text, query), since this run reads a query with each text" if has_query else "a string"
    if not isinstance(given, Sequence) or not given:
        raise SettingError(f"texts must be a list, and each text {wanted}; it is {texts!r:.60}.")
    pairs = []
    for text in given:
        match text:
            case str() if not has_query:
                pairs.append((text, ""))
            case (str(), str()) if has_query:
                pairs.append(text)
            case _:
                raise SettingError(f"each text must be {wanted}; one is {text!r:.60}.")
    return pairs


def read_for_run(trained: Trained, text: str, query: str, place: int) -> tuple[Example, Described]:
    """The text as the run's data would have been read, and what the reader of its explanation should know."""
    for role, written in {"text": text, "query": query}.items():
        if any("\ud800" <= character <= "\udfff" for character in written):
            raise DataError(f"the {role} of text {place} must be valid UTF-8, and is not: {written!r:.60}. Convert it.")
    tokens, spans = trained.words.split(text)
    query_tokens = trained.words.split(query)[0]
    if not tokens:
        raise DataError(f"text {place} must have a word at least; it has none: {text!r:.60}.")
    if trained.model.query_encoder is not None and not query_tokens:
        raise DataError(f"the query of text {place} must have a word at least; it has none: {query!r:.60}.")
    kept = len(tokens) if trained.run.text.max_tokens is None else trained.run.text.max_tokens
    is_cut = len(tokens) > kept
    tokens, spans, count = tokens[:kept], spans[:kept], len(tokens)
    by_sentence = _reads_sentences(trained.run)
    starts = sentence_starts(text, spans) if by_sentence else ()
    example = Example(tokens, 0, query_tokens, starts, text=text)
    notes = [f"The model reads the first {kept} of {count:,} words; the rest had no influence."] if is_cut else []
    notes += _unknown(trained, tokens)
    item = "sentence" if by_sentence else "word"
    return example, Described(text, query, tuple(item_names(example)), item, tuple(notes))


def _unknown(trained: Trained, tokens: Sequence[str]) -> list[str]:
    """What to know of words that the model never saw: it cannot tell them apart."""
    ids = trained.words.ids(tokens)
    strangers = list(dict.fromkeys(token for token, number in zip(tokens, ids, strict=True) if number == UNKNOWN))
    if not strangers:
        return []
    if all(number == UNKNOWN for number in ids):
        return ["The model knows none of these words and reads them all as the same unknown word: do not rely on this."]
    shown = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in strangers[:MOST_NAMED]]
    listed = ", ".join(f"“{word}”" for word in shown)
    more = f" and {len(strangers) - MOST_NAMED} more" if len(strangers) > MOST_NAMED else ""
    read_as = "an unknown word" if len(strangers) == 1 else "one and the same unknown word"
    return [f"The model does not know {listed}{more}, which it reads as {read_as}."]


def task_of(trained: Trained) -> Task:
    """The task of the run's data; NLI where only its query is known: its rule for the same answer is the stricter."""
    if trained.model.query_encoder is None:
        return "classification"
    return trained.run.data.task or QUERIES.get((trained.run.data.query or "").lower(), "nli")


def _reads_sentences(run: Run) -> bool:
    return run.network.encoder == "hierarchical"
