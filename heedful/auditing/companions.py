"""Other models beside the audited one: from other seeds, without attention, or trained against it; and their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl
import torch
from torch import Tensor

from heedful.auditing.rows import audit_rows, batch_rows, item_rows, shown_texts
from heedful.auditing.subject import Subject, checked, measurable
from heedful.battery import PAIRS
from heedful.battery.attefa_family import adversary_rows, base_rows, constant_adversary
from heedful.errors import pick
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.training.trained import Trained
from heedful.types import Batch, Findings, LinearModel, Model, Trace


@dataclass(frozen=True)
class Company:
    """Other models that an audit looks at beside its own.

    Args:
        retrained: the same model trained with uniform attention, for the question whether attention is needed at all.
        reference: the run whose attention a model of ours with frozen attention imposes.
        seeds: the same model trained from other seeds.
        adversaries: models trained to predict as it does and attend elsewhere.
    """

    retrained: Trained | Model | None = None
    reference: Trained | None = None
    seeds: tuple[Trained | Model, ...] = ()
    adversaries: tuple[Trained | Model, ...] = ()


def retrained_rows(subject: Subject, other: Subject, settings: AuditSettings) -> pl.DataFrame:
    """Whether the model without attention is right, text by text: test `uniform_retrained`."""
    only = settings.model_copy(update={"tests": ("prediction",), "shown": 0})
    rows, _ = audit_rows(replace(other, name=subject.name), only)
    return rows.filter(pl.col("measure") == "correct").with_columns(test=pl.lit("uniform_retrained"))


def pair_rows(test: str, subject: Subject, others: Sequence[Subject], settings: AuditSettings) -> pl.DataFrame:
    """The rows of a test that compares a model with others on the same texts."""
    compare = pick("test of several models", test, PAIRS)
    subjects, shown = (subject, *others), shown_texts(subject, settings)
    parts = []
    for seen, *beside in _seen(subjects, [measurable(one.model) for one in subjects]):
        found = compare(seen, beside)
        parts += [
            batch_rows(subject, seen.batch, {test: found}),
            item_rows(subject, seen, found.items, shown, found.solver),
        ]
    return pl.concat(parts).sort("example", "test", "measure", "item", nulls_last=False)


def adversaries_rows(subject: Subject, adversaries: Sequence[Subject]) -> pl.DataFrame:
    """What an adversary could reach (test `attefa`) and what each trained one did (`adversaries`, numbered from 1).

    As `attefa.base_rows` and `attefa.adversary_rows` name them, from which `attefa.family` is made again.
    """
    subjects = (subject, *adversaries)
    models = [measurable(one.model) for one in subjects]
    reached: list[dict[str, Tensor]] = []
    done: list[list[dict[str, Tensor]]] = []
    said: list[list[Tensor]] = []
    batches: list[Batch] = []
    for base, *others in _seen(subjects, models):
        batches.append(base.batch)
        reached.append(_reached(models[0], base))
        done.append([_done(base, other) for other in others])
        said.append([one.logits.softmax(-1).cpu() for one in (base, *others)])
    # The best constant answer is one for all texts, so it can not be found batch by batch.
    sizes = [len(batch.labels) for batch in batches]
    apart = [constant_adversary(torch.cat(column)).split(sizes) for column in zip(*said, strict=True)]
    parts = []
    for place, batch in enumerate(batches):
        base = reached[place] | {"constant_tvd": apart[0][place]}
        each = [one | {"apart": own[place]} for one, own in zip(done[place], apart[1:], strict=True)]
        numbered = {f"{name}_{n}": value for n, one in enumerate(each, start=1) for name, value in one.items()}
        found = {"attefa": Findings(base, "exact"), "adversaries": Findings(numbered, "search")}
        parts.append(batch_rows(subject, batch, found))
    return pl.concat(parts).sort("example", "test", "measure")


def _reached(model: Model, base: Trace) -> dict[str, Tensor]:
    """What needs no training, of one batch."""
    item_logits = model.item_logits(base.encoded).cpu() if isinstance(model, LinearModel) else None
    token_wise = isinstance(model, AttentionModel) and getattr(model.encoder, "token_wise", False)
    types = base.batch.tokens.cpu() if token_wise else None  # such a model weighs equal tokens alike
    return base_rows(base.attention.cpu(), base.logits.softmax(-1).cpu(), base.encoded.items.cpu(), item_logits, types)


def _done(base: Trace, other: Trace) -> dict[str, Tensor]:
    """How far an adversary went, of one batch."""
    own, there = (one.logits.softmax(-1).cpu() for one in (other, base))
    return adversary_rows(other.attention.cpu(), own, base.attention.cpu(), there, base.encoded.items.cpu())


def _seen(subjects: Sequence[Subject], models: Sequence[Model]) -> Iterator[list[Trace]]:
    """Batch by batch, what each model makes of the same texts."""
    for batches in zip(*(one.batches() for one in subjects), strict=True):
        with torch.no_grad():
            yield [checked(trace(model, batch)) for model, batch in zip(models, batches, strict=True)]
