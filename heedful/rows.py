"""Every test of the battery over the texts of a split, as rows: long, tidy, one number each."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.batches import collate, in_order, number, to_device
from heedful.battery import BATTERY, DEEP, TESTS, Evidence
from heedful.battery.adversary import adversary_attention
from heedful.battery.erase_until_flip import minimal_set
from heedful.battery.evidence import RANKINGS
from heedful.datasets.synonyms import wordnet_synonyms
from heedful.errors import HeedfulError, SettingError, pick
from heedful.evaluation import outputs
from heedful.model import trace
from heedful.settings import AuditSettings
from heedful.tokens import counts_of_batches, token_classes, token_counts
from heedful.training import Trained
from heedful.types import Batch, Dataset, Example, Findings, Model, Trace

BATCH = 32
SOME = 500
"""Texts audited by default where there are three classes or more, whose bounds take a linear programme each."""

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


@dataclass(frozen=True)
class Subject:
    """What is audited: a model, and the texts as it reads them.

    Args:
        name: of the model, in the rows: a run's key, or what the user calls it.
        texts: which examples of the split are read.
        batches: reads them anew, each once; `Batch.index` says which example a row is.
        examples: the whole split, for its words; empty where nobody has them.
        labels: what the classes are called.
        counts: how often each token occurs under each label, in the training texts where these are at hand.
        words: of the vocabulary, by number; empty where nobody has them.
    """

    name: str
    model: Model
    split: str
    texts: Sequence[int]
    batches: Callable[[], Iterator[Batch]]
    labels: tuple[str, ...]
    counts: Callable[[], Int[Tensor, "token classes"]]
    words: Sequence[str] = ()
    examples: Sequence[Example] = ()
    task: str = "classification"


def subject_of(
    name: str,
    trained: Trained,
    dataset: Dataset,
    settings: AuditSettings,
    *,
    device: str = "cpu",
    reference: Trained | None = None,
) -> Subject:
    """A finished run and a data set, ready to be audited: a sample drawn by the audit's seed, or all texts.

    Args:
        reference: the run whose attention a model with frozen attention imposes.
    """
    examples = getattr(dataset, settings.split)
    split, where = number(examples, trained.words), torch.device(device)
    given = None
    if trained.run.network.attention == "frozen" and reference is not None:
        given = outputs(reference.model, number(examples, reference.words)).attention
    most = settings.examples or (len(examples) if len(dataset.labels) == 2 else SOME)
    texts = sorted(_drawn(len(examples), settings.seed)[:most])

    def batches() -> Iterator[Batch]:
        for block in in_order([len(split.texts[i]) for i in texts], BATCH):
            yield to_device(collate(split, [texts[place] for place in block], given), where)

    @cache
    def counts() -> Int[Tensor, "token classes"]:
        return token_counts(number(dataset.train, trained.words), trained.words.size, len(dataset.labels))

    model, words = trained.model.to(where), trained.words.words
    return Subject(name, model, settings.split, texts, batches, dataset.labels, counts, words, examples, dataset.task)


def subject_of_batches(name: str, model: Model, batches: Sequence[Batch], labels: Sequence[str]) -> Subject:
    """Any model with the protocol's verbs, and the batches it is to be audited on."""
    texts = [index for batch in batches for index in batch.index.tolist()]
    if len(set(texts)) < len(texts):
        raise SettingError("`index` must number the texts of all batches, each once; some number stands twice.")
    counts = partial(counts_of_batches, batches, len(labels))
    return Subject(name, model, "test", texts, lambda: iter(batches), tuple(labels), counts)


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
    shown = {subject.texts[i] for i in _drawn(len(subject.texts), settings.seed + 1)[: settings.shown]}
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


def measurable(model: Model) -> Model:
    """A copy in float64 and evaluation mode, where the model is a module; weights that are no numbers are named."""
    if not isinstance(model, nn.Module):
        return model
    for name, tensor in model.named_parameters():
        if not tensor.isfinite().all():
            raise HeedfulError(f"the model's parameter '{name}' holds NaN or infinite numbers: it can not be audited.")
    return deepcopy(model).double().eval()


def checked(seen: Trace) -> Trace:
    """The trace, if its attention is attention: numbers that sum to 1 over the items and are 0 elsewhere."""
    attention, items = seen.attention, seen.encoded.items
    total = attention.where(items, 0.0).sum(1)
    wrong = ~((total - 1).abs() < 1e-4) | (attention.masked_fill(items, 0.0) != 0).any(1)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise HeedfulError(
            f"attention must sum to 1 over the items of each text and be 0 elsewhere; that of text "
            f"{int(seen.batch.index[row])} sums to {total[row].item():.4g} over its {int(items[row].sum())} items "
            f"(and to {attention[row].sum().item():.4g} over all places). Did `attend` return scores as attention?"
        )
    if not seen.logits.isfinite().all():
        row = int((~seen.logits.isfinite()).any(1).nonzero()[0])
        raise HeedfulError(f"the model's logits of text {int(seen.batch.index[row])} are not numbers.")
    return seen


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


def _drawn(count: int, seed: int) -> list[int]:
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()


def _generator(seed: int, test: str) -> torch.Generator:
    """A stream of its own for each test: leaving one out changes no other's numbers."""
    digest = hashlib.sha256(f"{seed} {test}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
