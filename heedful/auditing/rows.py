"""Every test of the battery over the texts of a split, as rows: long, tidy, one number each."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.methods import ATTRIBUTIONS
from heedful.attribution.subset_reader import Logits
from heedful.auditing.other_rankings import rankings_beside
from heedful.auditing.outcomes import Costs, Judge
from heedful.auditing.shards import (
    Shard,
    ShardInfo,
    join_facts,
    shard_generator,
    sorted_examples,
    sorted_outcomes,
    substitutions_of,
)
from heedful.battery import BATTERY, Evidence
from heedful.data.batching import rows_of_batch
from heedful.data.sampling import random_order
from heedful.errors import SettingError, lookup
from heedful.models.linearity import validate_linearity
from heedful.schema.table_columns import EXAMPLES, ROWS
from heedful.settings import AuditSettings
from heedful.settings.validation import bind_options
from heedful.subjects.checks import validate_unchanged
from heedful.subjects.subject import SubjectTexts, check_count, float64_eval_copy, item_names
from heedful.types import Batch, Findings, Solver, Trace

ORDER = ["example", "test", "measure", "item"]
"""By what rows are sorted."""
OUTCOME = "outcome"
"""Names the answer among tests."""
IMPORTANCES = ("weight_gradient", "gradient_x_input", "leave_one_out")
"""What is shown of an item in addition to its attention."""


def outcomes_alone(subject: SubjectTexts, settings: AuditSettings) -> pl.DataFrame:
    """Outcomes of texts that choose a ranking: words are deleted, not replaced, and no test is run."""
    model, given = float64_eval_copy(subject.model), rankings_beside(subject, settings)
    judge, single = Judge(subject, settings, replaced=()), None if subject.is_own else {}
    parts = []
    for batch in subject.batches():
        with torch.no_grad():
            seen = subject.trace(model, batch)
            parts.append(judge.rows(Evidence(model, seen, subject.context, given=given(model, seen), single=single)))
    return sorted_outcomes(parts)


def shard_rows(
    subject: SubjectTexts, settings: AuditSettings, number: int = 0, report: Callable[[int], None] | None = None
) -> Shard:
    """What every test finds in the texts of one shard.

    The model is measured in float64 and evaluation mode, on a copy; the user's own is left as it is.

    Args:
        subject: subject with only the batches of the shard.
        number: index of the shard, which determines what is drawn.
        report: called with the number of texts done after every batch.
    """
    check_names(settings)
    tests, model = chosen_tests(settings), float64_eval_copy(subject.model)
    generators = {name: shard_generator(settings.seed, name, number) for name in tests}
    shared = shard_generator(settings.seed, "evidence", number)
    shown, others = shown_texts(subject, settings), rankings_beside(subject, settings, number)
    judge = Judge(subject, settings) if settings.has_answer else None
    single: dict[bytes, Logits] | None = None if subject.is_own else {}
    parts: list[pl.DataFrame] = []
    outcomes: list[pl.DataFrame] = []
    texts: list[pl.DataFrame] = []
    facts: list[ShardInfo] = []
    done, first = 0, None
    for batch in subject.batches():
        with torch.no_grad():
            seen = subject.trace(model, batch)
            first = first or seen
            given = others(model, seen)
            evidence = Evidence(validate_linearity(model, seen), seen, subject.context, shared, given, single)
            if judge is not None:
                outcomes.append(judge.rows(evidence))
            findings = {name: test(evidence, generators[name]) for name, test in tests.items()}
            items, examples = _shown_rows(subject, evidence, shown, findings)
        parts += [batch_rows(subject, batch, findings), items]
        texts.append(examples)
        facts += [_facts(name, each, settings) for name, each in findings.items()]
        done += len(batch.labels)
        if report:
            report(done)
    if subject.is_own and first is not None:
        with torch.no_grad():
            validate_unchanged(model, first)
    costs = judge.costs if judge is not None else Costs()
    return Shard(
        pl.concat(parts).sort(ORDER, nulls_last=False),
        sorted_examples(texts),
        sorted_outcomes(outcomes),
        replace(join_facts(facts), texts=done, ranking_seconds=dict(costs.seconds), passes=dict(costs.passes)),
    )


def _facts(test: str, findings: Findings, settings: AuditSettings) -> ShardInfo:
    """What a test reports of a batch in addition to its numbers."""
    is_worth_saying = findings.skipped and (settings.tests or not BATTERY[test].needs_rationales)
    questions = BATTERY[test].questions if is_worth_saying else ()
    return ShardInfo(
        substitutions_of(Counter(findings.substitutions)),
        (findings.synonym_source,) if findings.synonym_source else (),
        {question.name: findings.skipped for question in questions},
    )


def shown_texts(subject: SubjectTexts, settings: AuditSettings) -> set[int]:
    """The texts whose items get rows of their own."""
    return {subject.numbers[i] for i in random_order(len(subject.numbers), settings.seed + 1, settings.shown)}


def check_names(settings: AuditSettings) -> None:
    """Raise where a test, an option or a ranking of that name is unknown, or one ranking is named twice."""
    chosen_tests(settings)
    for name in settings.rankings:
        lookup("ranking", name, ATTRIBUTIONS)
    if len({*settings.rankings}) < len(settings.rankings):
        raise SettingError(f"rankings must be named once each; they are {', '.join(settings.rankings)}.")


def chosen_tests(settings: AuditSettings) -> dict[str, Callable[..., Findings]]:
    """The tests by name, `prediction` always among them, with their options set."""
    for name in settings.tests:
        lookup("test", name, {**BATTERY, OUTCOME: None})
    for name, options in settings.options.items():  # also of tests that are not chosen
        bind_options(lookup("test", name, BATTERY).function, options, f"test '{name}'")
    costs = ("default", "deep") if settings.deep else ("default",)
    wanted = settings.tests or tuple(name for name, test in BATTERY.items() if test.cost in costs)
    names = ["prediction", *(name for name in BATTERY if name != "prediction" and name in wanted)]
    return {
        name: bind_options(BATTERY[name].function, settings.options.get(name, {}), f"test '{name}'") for name in names
    }


def batch_rows(subject: SubjectTexts, batch: Batch, findings: Mapping[str, Findings]) -> pl.DataFrame:
    """Results of the tests for one batch, one row per text and measure."""
    examples = batch.index.cpu().numpy()
    columns = [
        (test, measure, each.solvers.get(measure, each.solver))
        for test, each in findings.items()
        for measure in each.values
    ]
    values = torch.stack([value.double() for each in findings.values() for value in each.values.values()])
    tests, measures, solvers = (numpy.repeat(names, len(examples)) for names in zip(*columns, strict=True))
    frame = {"example": numpy.tile(examples, len(columns)), "test": tests, "measure": measures, "solver": solvers}
    return _framed(pl.DataFrame({**frame, "value": values.flatten().cpu().numpy()}), subject)


def item_rows(
    subject: SubjectTexts,
    trace: Trace,
    values: Mapping[str, Float[Tensor, "batch item"]],
    shown: set[int],
    solver: Solver,
) -> pl.DataFrame:
    """A row for each item of the shown texts and each measure, as test `items`."""
    frames = [pl.DataFrame(schema=ROWS)]
    for row, example in enumerate(trace.batch.index.tolist()):
        real = trace.encoded.items[row].cpu()
        if example in shown and values:
            own = {measure: value[row].cpu()[real].double().numpy() for measure, value in values.items()}
            wide = pl.DataFrame(own).with_row_index("item").unpivot(index="item", variable_name="measure")
            named = wide.with_columns(example=pl.lit(example), test=pl.lit("items"), solver=pl.lit(solver))
            frames.append(_framed(named, subject))
    return pl.concat(frames)


def _shown_rows(
    subject: SubjectTexts, evidence: Evidence, shown: set[int], findings: Mapping[str, Findings]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows for each item of the shown texts, and those texts."""
    index = evidence.trace.batch.index.tolist()
    places = [place for place, example in enumerate(index) if example in shown]
    if not places:
        return pl.DataFrame(schema=ROWS), pl.DataFrame(schema=EXAMPLES)
    values: dict[str, Tensor] = {"attention": evidence.attention, **_importances(subject, evidence, places)}
    values |= {name: value for each in findings.values() for name, value in each.items.items()}
    replacement = values.pop("replacement", None)
    adversarial = values.get("adversarial_attention")
    predictions = None if adversarial is None else evidence.decode(adversarial).softmax(-1)
    texts = [_text(subject, evidence, place, predictions, replacement) for place in places]
    of_some = {**_rationales(subject, evidence), **evidence.given}
    marked = item_rows(subject, evidence.trace, of_some, shown, evidence.solver)
    rows = item_rows(subject, evidence.trace, values, shown, evidence.solver)
    return pl.concat([rows, marked.drop_nans("value")]), pl.DataFrame(texts, schema=EXAMPLES)


def _importances(
    subject: SubjectTexts, evidence: Evidence, places: list[int]
) -> dict[str, Float[Tensor, "batch item"]]:
    """What the items of the shown texts matter by each of IMPORTANCES.

    One that no test has asked for is computed of these texts alone, and NaN in the others.
    """
    known = {name: value for name, value in vars(evidence).items() if name in IMPORTANCES}
    if missing := [name for name in IMPORTANCES if name not in known]:
        rows = torch.tensor(places, device=evidence.trace.attention.device)
        seen = subject.trace(evidence.model, rows_of_batch(evidence.trace.batch, rows))
        shown = Evidence(evidence.model, seen, evidence.context)
        for name in missing:
            importance = getattr(shown, name)
            known[name] = torch.full_like(evidence.attention, torch.nan)
            known[name][places, : importance.shape[1]] = importance  # sentences of fewer texts may be fewer
    return {name: known[name] for name in IMPORTANCES}


def _rationales(subject: SubjectTexts, evidence: Evidence) -> dict[str, Float[Tensor, "batch item"]]:
    """1 at the words of the human rationale, 0 at the others; NaN in texts without a rationale."""
    marks = torch.full(evidence.items.shape, torch.nan, dtype=torch.float64)
    for row, example in enumerate(evidence.trace.batch.index.tolist()):
        text, places = subject.examples[example] if subject.examples else None, evidence.items[row].nonzero()[:, 0]
        is_by_word = text is not None and not text.sentences and len(places) == len(text.tokens)
        if text is not None and text.rationale is not None and is_by_word:
            marks[row, places] = 0.0
            marks[row, places[list(text.rationale)]] = 1.0
    return {"rationale": marks}


def _text(
    subject: SubjectTexts,
    evidence: Evidence,
    place: int,
    adversarial: Float[Tensor, "batch classes"] | None,
    replacement: Float[Tensor, "batch item"] | None,
) -> dict[str, Any]:
    """One shown text, as `schema.EXAMPLES` has it.

    Args:
        adversarial: the predictions under the adversarial attention.
        replacement: tokens that replace others.
    """
    number, items = int(evidence.trace.batch.index[place]), evidence.items[place]
    predicted, label = int(evidence.predicted[place]), int(evidence.trace.batch.labels[place])
    example = subject.examples[number] if subject.examples else None
    names = names_of(subject, number, int(items.sum()))
    return {
        "run": subject.name,
        "split": subject.split,
        "example": number,
        "text": example.text if example else " ".join(subject.words.get(number, ())),
        "query": " ".join(example.query) if example else "",
        "items": names,
        "label": subject.labels[label] if label >= 0 else "",
        "predicted": subject.labels[predicted],
        "probability": evidence.probabilities[place, predicted].item(),
        "adversarial_probability": None if adversarial is None else adversarial[place, predicted].item(),
        "replaced": None if replacement is None else _replaced(subject, names, replacement[place][items]),
        "row": example.row if example else None,
        "id": example.id if example else None,
    }


def names_of(subject: SubjectTexts, number: int, count: int) -> list[str]:
    """Names of the items of a text: its words as they are written, or else numbers."""
    if subject.examples:
        return item_names(subject.examples[number])
    if number not in subject.words:
        return [f"item {position}" for position in range(1, count + 1)]
    check_count(subject.words[number], count, number)
    return list(subject.words[number])


def _replaced(subject: SubjectTexts, names: list[str], replacement: Float[Tensor, " item"]) -> list[str] | None:
    """The words of a text after some were replaced; None if words are not known."""
    vocabulary = subject.context.vocabulary
    if not vocabulary or len(names) != len(replacement):
        return None
    return [
        name if math.isnan(token) else vocabulary[int(token)]
        for name, token in zip(names, replacement.tolist(), strict=True)
    ]


def _framed(rows: pl.DataFrame, subject: SubjectTexts) -> pl.DataFrame:
    """The rows with all columns, in their order and of their types."""
    constants = {"run": subject.name, "split": subject.split, "site": subject.site, "scope": subject.scope}
    constants |= {} if "item" in rows.columns else {"item": None}
    whole = rows.with_columns(**{name: pl.lit(value) for name, value in constants.items()})
    return whole.select(pl.col(name).cast(kind) for name, kind in ROWS.items())
