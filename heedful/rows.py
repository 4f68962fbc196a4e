"""Every test of the battery over the texts of a split, as rows: long, tidy, one number each."""

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery import BATTERY, DEEP, TESTS, Evidence
from heedful.battery.adversary import adversary_attention
from heedful.battery.erase_until_flip import minimal_set
from heedful.battery.evidence import RANKINGS
from heedful.datasets.synonyms import wordnet_synonyms
from heedful.errors import SettingError, pick
from heedful.model import trace
from heedful.settings import AuditSettings
from heedful.subject import Subject, checked, drawn, measurable
from heedful.tokens import token_classes
from heedful.types import Batch, Example, Findings

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
    shown = {subject.texts[i] for i in drawn(len(subject.texts), settings.seed + 1)[: settings.shown]}
    parts: list[pl.DataFrame] = []
    texts: list[pl.DataFrame] = []
    done = 0
    for batch in subject.batches():
        with torch.no_grad():
            evidence = Evidence(model, checked(trace(model, batch)))
            found = {name: test(evidence, generators[name]) for name, test in tests.items()}
            items, examples = _items(subject, evidence, shown, _eps(subject, settings))
        parts += [batch_rows(subject, batch, found), items]
        texts.append(examples)
        done += len(batch.labels)
        if report:
            report(done, len(subject.texts))
    order = ["example", "test", "measure", "item"]
    return pl.concat(parts).sort(order, nulls_last=False), pl.concat(texts).sort("example")


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


def _items(subject: Subject, evidence: Evidence, shown: set[int], eps: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows for each word of the shown texts, and those texts."""
    index = evidence.trace.batch.index.tolist()
    rows = [row for row, example in enumerate(index) if example in shown]
    if not rows:
        return pl.DataFrame(schema=ROW), pl.DataFrame(schema=EXAMPLE)
    values = _values_of_items(evidence, eps)
    other = values.get("adversary_attention")
    said = None if other is None else evidence.decode(other).softmax(-1)
    frames, texts = [], []
    for row in rows:
        real = evidence.items[row]
        numbered = range(int(real.sum()))
        for measure, value in {**values, **_rationale(subject, index[row], real)}.items():
            own = (value[row] if value.ndim > 1 else value)[real].double().cpu().numpy()
            frames.append(pl.DataFrame({"example": index[row], "item": numbered, "measure": measure, "value": own}))
        texts.append(_text(subject, evidence, row, None if said is None else said[row]))
    named = pl.concat(frames).with_columns(test=pl.lit("items"), solver=pl.lit(evidence.solver))
    return _framed(named, subject), pl.DataFrame(texts, schema=EXAMPLE)


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


def _rationale(subject: Subject, example: int, real: Tensor) -> dict[str, Tensor]:
    known = subject.examples[example] if subject.examples else None
    if known is None or known.rationale is None or known.sentences or int(real.sum()) != len(known.tokens):
        return {}
    marks = torch.zeros(len(real), device=real.device)
    marks[real.nonzero()[:, 0][list(known.rationale)]] = 1.0
    return {"rationale": marks}


def _text(subject: Subject, evidence: Evidence, row: int, said: Tensor | None) -> dict[str, Any]:
    example, count = int(evidence.trace.batch.index[row]), int(evidence.items[row].sum())
    predicted = int(evidence.predicted[row])
    known = subject.examples[example] if subject.examples else None
    return {
        "run": subject.name,
        "split": subject.split,
        "example": example,
        "text": known.text if known else "",
        "query": " ".join(known.query) if known else "",
        "items": words_of(known) if known else [f"item {place + 1}" for place in range(count)],
        "label": subject.labels[int(evidence.trace.batch.labels[row])],
        "predicted": subject.labels[predicted],
        "probability": evidence.probabilities[row, predicted].item(),
        "adversary_probability": None if said is None else said[predicted].item(),
    }


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
