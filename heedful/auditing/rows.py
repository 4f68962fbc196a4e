"""Every test of the battery over the texts of a split, as rows: long, tidy, one number each."""

import hashlib
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.auditing.subject import Subject, checked, drawn, measurable
from heedful.battery import BATTERY, DEEP, TESTS, Evidence
from heedful.battery.adversarial_attention import adversary_attention
from heedful.battery.erase_until_flip import minimal_set
from heedful.battery.evidence import RANKINGS
from heedful.data.synonyms import wordnet_synonyms
from heedful.errors import SettingError, pick
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.token_scores import token_classes
from heedful.types import Batch, Example, Findings, Solver, Trace

ROW = pl.Schema(
    {
        "run": pl.String,
        "split": pl.String,
        "example": pl.Int32,
        "item": pl.Int32,
        "test": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
        "solver": pl.String,
    }
)
EXAMPLE = pl.Schema(
    {
        "run": pl.String,
        "split": pl.String,
        "example": pl.Int32,
        "text": pl.String,
        "query": pl.String,
        "items": pl.List(pl.String),
        "label": pl.String,
        "predicted": pl.String,
        "probability": pl.Float64,
        "adversary_probability": pl.Float64,
        "replaced": pl.List(pl.String),
    }
)


def audit_rows(
    subject: Subject, settings: AuditSettings, report: Callable[[int, int], None] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of every test on every text, and the texts that are shown word by word.

    The model is measured in float64 and evaluation mode, on a copy; the user's own is left as it is.

    Args:
        report: told (texts done, texts in all) after every batch.
    """
    tests, model = chosen_tests(subject, settings), measurable(subject.model)
    generators = {name: _generator(settings.seed, name) for name in tests}
    shown = shown_texts(subject, settings)
    parts: list[pl.DataFrame] = []
    texts: list[pl.DataFrame] = []
    done = 0
    for batch in subject.batches():
        with torch.no_grad():
            evidence = Evidence(model, checked(trace(model, batch)))
            found = {name: test(evidence, generators[name]) for name, test in tests.items()}
            items, examples = _items(subject, evidence, shown, _eps(subject, settings), found)
        parts += [batch_rows(subject, batch, found), items]
        texts.append(examples)
        done += len(batch.labels)
        if report:
            report(done, len(subject.texts))
    order = ["example", "test", "measure", "item"]
    return pl.concat(parts).sort(order, nulls_last=False), pl.concat(texts).sort("example")


def shown_texts(subject: Subject, settings: AuditSettings) -> set[int]:
    """The texts whose items get rows of their own."""
    return {subject.texts[i] for i in drawn(len(subject.texts), settings.seed + 1)[: settings.shown]}


def chosen_tests(subject: Subject, settings: AuditSettings) -> dict[str, Callable[..., Findings]]:
    """The tests by name, `prediction` always among them, with the audit's settings as their options."""
    for name in settings.tests:
        pick("test", name, TESTS)
    for name in settings.erase_by:
        pick("ranking", name, RANKINGS)
    wanted = settings.tests or (*BATTERY, *(DEEP if settings.deep else ()))
    names = ["prediction", *(name for name in TESTS if name != "prediction" and name in wanted)]
    options: dict[str, dict[str, Any]] = {
        "permutation": {"count": settings.permutations},
        "adversary": {"eps": _eps(subject, settings), "search": settings.search},
        "erase_until_flip": {"rankings": settings.rankings, "by": settings.erase_by or tuple(RANKINGS)},
        "embedding_noise": {"radii": settings.radii},
        "embedding_attack": {"radii": settings.radii},
        "word_substitution": {"counts": settings.substitutions},
        "rationale": {"sizes": settings.sizes, "erase": settings.erase},
        "sensitivity": {"sizes": settings.sizes},
    }
    if "word_substitution" in names and settings.synonyms == "wordnet":
        options["word_substitution"] |= {"synonyms": _synonyms(subject)}
    if "token_scores" in names:
        options["token_scores"] = {"classes": token_classes(subject.counts()), "labels": subject.labels}
    return {name: partial(TESTS[name], **options.get(name, {})) for name in names}


def _synonyms(subject: Subject) -> dict[int, tuple[int, ...]]:
    if not subject.words:
        raise SettingError(
            "synonyms='wordnet' needs a run of ours, whose words are known; of a model of your own only the numbers "
            "are. Use synonyms='neighbours'."
        )
    return wordnet_synonyms(subject.words)


def batch_rows(subject: Subject, batch: Batch, found: Mapping[str, Findings]) -> pl.DataFrame:
    """What the tests found of one batch, a row a text and measure."""
    examples = batch.index.cpu().numpy()
    named = [(test, measure, one.solver) for test, one in found.items() for measure in one.values]
    values = torch.stack([value.double() for one in found.values() for value in one.values.values()])
    tests, measures, solvers = (numpy.repeat(names, len(examples)) for names in zip(*named, strict=True))
    columns = {"example": numpy.tile(examples, len(named)), "test": tests, "measure": measures, "solver": solvers}
    return _framed(pl.DataFrame({**columns, "value": values.flatten().cpu().numpy()}), subject)


def item_rows(
    subject: Subject,
    trace: Trace,
    values: Mapping[str, Float[Tensor, "batch item"]],
    shown: set[int],
    solver: Solver,
) -> pl.DataFrame:
    """A row for each item of the shown texts and each measure, as test `items`."""
    frames = [pl.DataFrame(schema=ROW)]
    for row, example in enumerate(trace.batch.index.tolist()):
        real = trace.encoded.items[row].cpu()
        if example in shown and values:
            own = {measure: value[row].cpu()[real].double().numpy() for measure, value in values.items()}
            wide = pl.DataFrame(own).with_row_index("item").unpivot(index="item", variable_name="measure")
            named = wide.with_columns(example=pl.lit(example), test=pl.lit("items"), solver=pl.lit(solver))
            frames.append(_framed(named, subject))
    return pl.concat(frames)


def _items(
    subject: Subject, evidence: Evidence, shown: set[int], eps: float, found: Mapping[str, Findings]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows for each item of the shown texts, and those texts."""
    index = evidence.trace.batch.index.tolist()
    rows = [row for row, example in enumerate(index) if example in shown]
    if not rows:
        return pl.DataFrame(schema=ROW), pl.DataFrame(schema=EXAMPLE)
    values = _values_of_items(evidence, eps)
    values |= {name: value for one in found.values() for name, value in one.items.items()}
    other = values.get("adversary_attention")
    said = None if other is None else evidence.decode(other).softmax(-1)
    instead = values.pop("replacement", None)
    texts = [
        _text(subject, evidence, row, None if said is None else said[row], None if instead is None else instead[row])
        for row in rows
    ]
    marked = item_rows(subject, evidence.trace, _rationales(subject, evidence), shown, evidence.solver)
    all_rows = item_rows(subject, evidence.trace, values, shown, evidence.solver)
    return pl.concat([all_rows, marked.drop_nans("value")]), pl.DataFrame(texts, schema=EXAMPLE)


def _values_of_items(evidence: Evidence, eps: float) -> dict[str, Float[Tensor, "batch item"]]:
    values: dict[str, Tensor | None] = {
        "attention": evidence.attention,
        "input_gradient": evidence.input_gradient,
        "weight_gradient": evidence.weight_gradient,
        "leave_one_out": evidence.leave_one_out,
        "adversary_attention": adversary_attention(evidence, eps=eps),
        "minimal_set": minimal_set(evidence),
    }
    return {name: value for name, value in values.items() if value is not None}


def _rationales(subject: Subject, evidence: Evidence) -> dict[str, Float[Tensor, "batch item"]]:
    """1 at the words that a person says the label rests on, 0 at the others; NaN in texts of which nobody said."""
    marks = torch.full(evidence.items.shape, torch.nan, dtype=torch.float64)
    for row, example in enumerate(evidence.trace.batch.index.tolist()):
        known, places = subject.examples[example] if subject.examples else None, evidence.items[row].nonzero()[:, 0]
        if known is not None and known.rationale is not None and _is_by_word(known, len(places)):
            marks[row, places] = 0.0
            marks[row, places[list(known.rationale)]] = 1.0
    return {"rationale": marks}


def _is_by_word(known: Example, count: int) -> bool:
    """Whether a model with so many items of this text attends to its words."""
    return not known.sentences and count == len(known.tokens)


def _text(
    subject: Subject, evidence: Evidence, row: int, said: Tensor | None, instead: Tensor | None
) -> dict[str, Any]:
    example, count = int(evidence.trace.batch.index[row]), int(evidence.items[row].sum())
    predicted = int(evidence.predicted[row])
    known = subject.examples[example] if subject.examples else None
    words = words_of(known) if known else [f"item {place + 1}" for place in range(count)]
    return {
        "run": subject.name,
        "split": subject.split,
        "example": example,
        "text": known.text if known else "",
        "query": " ".join(known.query) if known else "",
        "items": words,
        "label": subject.labels[int(evidence.trace.batch.labels[row])],
        "predicted": subject.labels[predicted],
        "probability": evidence.probabilities[row, predicted].item(),
        "adversary_probability": None if said is None else said[predicted].item(),
        "replaced": None if instead is None else _replaced(subject, words, instead[evidence.items[row]]),
    }


def _replaced(subject: Subject, words: list[str], instead: Float[Tensor, " item"]) -> list[str] | None:
    """The words of a text after others were put in the place of some; None where words are not known."""
    if not subject.words or len(words) != len(instead):
        return None
    new = instead.tolist()
    return [word if math.isnan(token) else subject.words[int(token)] for word, token in zip(words, new, strict=True)]


def words_of(example: Example) -> list[str]:
    """What the items of a text are called: its tokens, or its sentences where it has boundaries.

    >>> words_of(Example(("so", "good", ".", "yes"), 1, sentences=(0, 3)))
    ['so good .', 'yes']
    """
    if not example.sentences:
        return list(example.tokens)
    ends = (*example.sentences[1:], len(example.tokens))
    return [" ".join(example.tokens[start:end]) for start, end in zip(example.sentences, ends, strict=True)]


def _framed(rows: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """The rows with all columns, in their order and of their types."""
    constants = {"run": subject.name, "split": subject.split} | ({} if "item" in rows.columns else {"item": None})
    whole = rows.with_columns(**{name: pl.lit(value) for name, value in constants.items()})
    return whole.select(pl.col(name).cast(kind) for name, kind in ROW.items())


def _eps(subject: Subject, settings: AuditSettings) -> float:
    return settings.eps or (0.05 if subject.task == "qa" else 0.01)


def _generator(seed: int, test: str) -> torch.Generator:
    """A stream of its own for each test: leaving one out changes no other's numbers."""
    digest = hashlib.sha256(f"{seed} {test}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
