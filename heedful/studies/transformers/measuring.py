"""What is measured of a fine-tuned transformer, text by text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution import leave_one_out, weight_gradient
from heedful.attribution.gradient import log_odds, signed_input_gradient
from heedful.exact import draw_permutations
from heedful.measures import kendall_tau, ties_within, total_variation
from heedful.models.trace import trace
from heedful.models.transformers import TransformerModel, load_classifier, read_texts
from heedful.models.transformers.heads import head_agreement
from heedful.studies.measurements import SCHEMA, Report
from heedful.studies.transformers.columns import (
    ATTENTION,
    BEST_HEAD,
    GRADIENT,
    PLACES,
    PRODUCT,
    SITES,
)
from heedful.training.finetuning import text_of
from heedful.types import Batch, Dataset, Encoded, Example, Trace

VERSION = 1
Values = Float[Tensor, " batch"]
Words = Float[Tensor, "batch item"]


def measure(folder: Path, dataset: Dataset, settings: Mapping[str, int], report: Report) -> pl.DataFrame:
    """The rows of a fine-tuned classifier; the best head is chosen on dev texts, all else is of test texts.

    Args:
        settings: how many texts: `imposed` get other attention; from `deleted` words are deleted; on `dev` the best
            head is chosen.
    """
    model = TransformerModel(load_classifier(str(folder)))
    rows = _Rows()
    texts = {name: _chosen(getattr(dataset, split), settings[name]) for name, split in OF_SPLITS.items()}
    whole, done = sum(len(chosen) for chosen in texts.values()), 0

    def batches(name: str) -> Iterator[Batch]:
        nonlocal done
        examples = getattr(dataset, OF_SPLITS[name])
        classes = [example.label for example in examples]
        read = read_texts(model.classifier, [text_of(each) for each in examples], classes, chosen=texts[name])
        for batch in read.batches():
            yield batch
            done += len(batch.index)
            report(done, whole)

    best = _best_head([_heads_of(model, batch) for batch in batches("dev")])
    for batch in batches("imposed"):
        _impose(model, batch, rows)
    for batch in batches("deleted"):
        _delete(model, batch, best, rows)
    return rows.frame()


OF_SPLITS = {"dev": "dev", "imposed": "test", "deleted": "test"}


class _Rows:
    """Rows as they are measured."""

    def __init__(self) -> None:
        self.parts: list[pl.DataFrame] = []

    def add(self, batch: Batch, test: str, values: Mapping[str, Tensor]) -> None:
        for measure, value in values.items():
            content = {"example": batch.index.tolist(), "value": value.double().cpu().tolist()}
            self.parts.append(pl.DataFrame(content).with_columns(test=pl.lit(test), measure=pl.lit(measure)))

    def frame(self) -> pl.DataFrame:
        """All of them, in the schema of measurements."""
        rows = pl.concat(self.parts).with_columns(item=pl.lit(None, dtype=pl.Int32))
        return rows.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items()).sort("test", "measure", "example")


def _chosen(examples: Sequence[Example], count: int) -> list[int]:
    """So many of the texts, the same for every seed of a run."""
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(0))
    return sorted(order[:count].tolist())


@torch.no_grad()
def _impose(model: TransformerModel, batch: Batch, rows: _Rows) -> None:
    """Right or wrong as it is, and with other attention in every head of each scope."""
    seen = trace(model, batch)
    whole, decided = seen.logits.softmax(-1), seen.logits.argmax(-1)
    correct = {"correct": decided == batch.labels, "label": batch.labels, "predicted": decided}
    rows.add(batch, "prediction", correct)
    for scope, place in PLACES.items():
        for change, logits in _changed(model.at("last", scope), seen.encoded).items():
            moved = total_variation(logits.softmax(-1), whole)
            right = logits.argmax(-1) == batch.labels
            rows.add(batch, place, {f"{change}_correct": right, f"{change}_moves": moved})


def _changed(model: TransformerModel, encoded: Encoded) -> dict[str, Float[Tensor, "batch classes"]]:
    items = encoded.items
    even = (items / items.sum(1, keepdim=True)).double()
    order = draw_permutations(items.cpu(), torch.Generator().manual_seed(0), 1)[:, 0].to(items.device)
    permuted = model.permuting(encoded, order)
    return {
        "uniform": model.impose_each(encoded, even[:, None])[:, 0],
        "permuted": model.decode(permuted, permuted.attention),
        "blind": model.decode_each(encoded, torch.zeros_like(even)[:, None])[:, 0],
    }


@dataclass(frozen=True)
class _Deleted:
    """What deleting each word does: how far the prediction moves, and how far the decision's log odds fall."""

    logits: Float[Tensor, "batch item classes"]
    moved: Words
    falls: Words
    items: Bool[Tensor, "batch item"]

    @classmethod
    @torch.no_grad()
    def of(cls, model: TransformerModel, batch: Batch) -> "_Deleted":
        """Of the texts of a batch, each shortened text run once through the whole model and no more."""
        plain = model.at("last", "row-all-layers")
        seen = trace(plain, batch)
        logits, items = leave_one_out(plain, seen), seen.encoded.items
        whole, decided = seen.logits.softmax(-1), seen.logits.argmax(-1)
        predictions = logits.softmax(-1)
        moved = total_variation(predictions, whole[:, None].expand_as(predictions))
        falls = log_odds(seen.logits, decided)[:, None] - log_odds(logits, decided[:, None].expand(items.shape))
        return cls(logits, moved.nan_to_num(0.0), falls.nan_to_num(0.0), items)

    def tau(self, values: Words, importance: Words) -> Values:
        """Kendall's tau-b of two rankings of each text's words."""
        items = self.items
        return kendall_tau(ties_within(values, items), ties_within(importance, items), items)[0]

    def at(self, values: Words, top: Int[Tensor, " batch"]) -> Values:
        """The value of one word of each text; NaN where it is the only one."""
        is_alone = self.items.sum(1) < 2
        return values.gather(1, top[:, None])[:, 0].double().masked_fill(is_alone, torch.nan)


def _delete(model: TransformerModel, batch: Batch, best: str, rows: _Rows) -> None:
    """How each ranking of words agrees with deleting them."""
    with torch.no_grad():
        seen = trace(model, batch)
    deleted = _Deleted.of(model, batch)
    for name, values in _rankings(model, seen, best).items():
        magnitude = values.abs().masked_fill(~deleted.items, -1.0)
        top = magnitude.argmax(1)
        is_consistent = values * deleted.falls > 0
        rows.add(batch, "agreement", {name: deleted.tau(values.abs(), deleted.moved)})
        rows.add(batch, "signed_agreement", {name: deleted.tau(values, deleted.falls)})
        rows.add(batch, "polarity", {name: deleted.at(is_consistent.double(), top)})
        rows.add(batch, "top_word", {name: deleted.at(deleted.moved, top)})
    _by_chance(batch, deleted, rows)
    _erase(model, seen, deleted, batch, rows)
    agreement = head_agreement(model, seen, deleted.logits)
    heads = {
        f"{layer}_{head}": agreement[layer, head]
        for layer in range(len(agreement))
        for head in range(agreement.shape[1])
    }
    rows.add(batch, "heads", heads)
    layer, head = map(int, best.removeprefix("head:").split("."))
    constant = torch.ones(len(batch.index), dtype=torch.float64)
    rows.add(batch, BEST_HEAD, {"layer": constant * layer, "head": constant * head})


def _by_chance(batch: Batch, deleted: _Deleted, rows: _Rows) -> None:
    """What any word would do, and the one that does most."""
    count = deleted.items.sum(1)
    is_alone = count < 2
    lowers = ((deleted.falls > 0) & deleted.items).sum(1) / count
    rows.add(batch, "polarity", {"random": lowers.double().masked_fill(is_alone, torch.nan)})
    moved = deleted.moved.masked_fill(~deleted.items, 0.0)
    values = {"random": moved.sum(1) / count, "most": moved.max(1).values}
    rows.add(batch, "top_word", {name: value.masked_fill(is_alone, torch.nan) for name, value in values.items()})


@torch.no_grad()
def _erase(model: TransformerModel, seen: Trace, deleted: _Deleted, batch: Batch, rows: _Rows) -> None:
    """How far the prediction moves when the most attended word loses its weight in each scope; the text stays."""
    attention, whole = seen.attention, seen.logits.softmax(-1)
    top = attention.argmax(1, keepdim=True)
    left = attention.scatter(1, top, 0.0)
    total = left.sum(1, keepdim=True)
    left = left / total.where(total > 0, 1.0)
    for scope, place in PLACES.items():
        logits = model.at("last", scope).decode_each(seen.encoded, left[:, None])[:, 0]
        moved = total_variation(logits.softmax(-1), whole).masked_fill(deleted.items.sum(1) < 2, torch.nan)
        rows.add(batch, place, {"erased_moves": moved})


def _rankings(model: TransformerModel, seen: Trace, best: str) -> dict[str, Words]:
    """The words of each text ranked in each way; larger is more important, and the sign, if any, its direction."""
    decided = seen.logits.argmax(-1)
    with torch.no_grad():
        sites = {**SITES, BEST_HEAD: best}
        shown = {name: _shown(model, site, seen) for name, site in sites.items() if name != ATTENTION}
    return {
        ATTENTION: seen.attention,
        **shown,
        PRODUCT: seen.attention * weight_gradient(model, seen),
        GRADIENT: signed_input_gradient(model, seen, decided),
    }


def _shown(model: TransformerModel, site: str, seen: Trace) -> Words:
    other = model.at(site)
    return other.attend(other.encode(seen.embedded, seen.batch), seen.batch)[1]


def _heads_of(model: TransformerModel, batch: Batch) -> Float[Tensor, "layer head batch"]:
    with torch.no_grad():
        seen = trace(model, batch)
    return head_agreement(model, seen, _Deleted.of(model, batch).logits)


def _best_head(agreement: Sequence[Float[Tensor, "layer head _"]]) -> str:
    """The head that agrees best with leave-one-out."""
    means = torch.cat(list(agreement), -1).nanmean(-1).nan_to_num(-torch.inf)
    layer, head = divmod(int(means.argmax()), means.shape[1])
    return f"head:{layer}.{head}"
