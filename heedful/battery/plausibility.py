"""Does attention point where people point? That is no evidence of how the model decides, and never mixed with it."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import items_with
from heedful.battery.comprehensiveness_sufficiency import top_items, top_sizes
from heedful.battery.evidence import RANKINGS, Evidence, Weights, undefined_where
from heedful.battery.plausible_baselines import baseline_scores
from heedful.battery.plausible_questions import QUESTIONS
from heedful.battery.question import BatteryTest
from heedful.errors import pick
from heedful.measures.annotators import Marks, against_others, annotator_count, annotator_f1, cohen_kappa, union_of
from heedful.measures.plausibility import (
    auroc,
    average_precision,
    best_token_f1,
    eraser_auprc,
    expected_eraser_auprc,
    token_f1,
    top_k_probabilities,
)
from heedful.measures.ranking import ties_within
from heedful.measures.span_matching import best_eraser_iou, expected_eraser_iou
from heedful.measures.span_overlap import best_ferret_iou, best_hatexplain_iou, eraser_iou, ferret_iou, hatexplain_iou
from heedful.settings import Count, Positive
from heedful.types import Findings

NO_MARKS = "Nobody marked words of these texts (own files: name the column of marks by --rationale)."

PerText = dict[str, Float[Tensor, " batch"]]


def plausibility(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    k: Positive = 5.0,
    by: tuple[str, ...] = tuple(RANKINGS),
    longest_exact: Count = 200,
) -> Findings:
    """How well attention, and every other ranking, agrees with the items that people marked (any annotator).

    By ranking: `average_precision_attention` ..., the main number; `auroc_`; of the top k `token_f1_`, and IOU by its
    three definitions: `hatexplain_precision_`, `hatexplain_recall_` (each item a span), `eraser_precision_`,
    `eraser_recall_` (runs of items, ties in random order), `ferret_iou_` (sets of items with a positive score); and
    `eraser_auprc_`, which rewards ties, for comparison with printed tables. Each also for trivial rankings: `_random`
    (the exact expectation), `_first`, `_longest` and `_rarest` words; and `_best`, the best possible at this k, where
    that is not 1. A sentence is marked if a word of it is.

    `marked`, the share of items; with two annotators or more `annotator_f1`, `annotator_kappa`, and, against all
    annotators but one, `average_precision_annotator` of that one and `average_precision_attention_others` of attention.
    Undefined where nothing is marked, and average precision and AUROC also where everything is.
    DeYoung et al. (2020, arXiv:1911.03429, section 4.1); Mathew et al. (2021, arXiv:2012.10289).

    Args:
        k: how many of the top items: so many, or, below 1, that share of the text's.
        by: only these of the named rankings, beside scores from outside.
        longest_exact: texts with more items get no floor and best of ERASER's IOU, which take seconds there.
    """
    marks = item_marks(evidence)
    if marks is None:
        return Findings(not_asked=NO_MARKS)
    items, marked = evidence.items, union_of(marks)
    sizes = top_sizes(evidence.count, (k,))[:, 0].floor()
    values: PerText = {"marked": (marked & items).sum(1) / evidence.count}
    rankings, baselines = _rankings(evidence, by), baseline_scores(evidence)
    for name, scores in {**rankings, **baselines}.items():
        ranks = ties_within(scores, items)
        order = evidence.random_order.gather(1, _descending(ranks, evidence))
        chosen = top_items(order, items, sizes[:, None])[:, 0]
        positive = ranks if name in baselines else ranks.where(scores > 0, 0.0)
        values |= _named(name, _agreement(ranks, positive, marked, items, sizes, chosen))
    values |= _named("random", _floors(marked, items, sizes, longest_exact))
    values |= _named("best", _ceilings(marked, items, sizes, longest_exact))
    values["eraser_auprc_constant"] = eraser_auprc(torch.zeros_like(evidence.attention), marked, items)
    values |= _of_annotators(evidence, marks)
    return Findings(undefined_where(~(marked & items).any(1) | (evidence.count < 2), values))


def item_marks(evidence: Evidence) -> Marks | None:
    """What each annotator marked of the items: 1 or 0, NaN for annotators that a text does not have."""
    marks = evidence.trace.batch.marks
    if marks is None:
        return None
    trace, absent = evidence.trace, marks.isnan().all(2, keepdim=True).cpu()
    of_items = [items_with(trace, (own > 0) & trace.batch.attendable) for own in marks.unbind(1)]
    return torch.stack(of_items, 1).cpu().double().masked_fill(absent, torch.nan)


def _rankings(evidence: Evidence, by: tuple[str, ...]) -> dict[str, Weights]:
    own = {name: pick("ranking", name, RANKINGS)(evidence) for name in by}
    return {**own, **evidence.given}


def _descending(ranks: Weights, evidence: Evidence) -> Tensor:
    """The order of the randomly ordered items from the largest rank down: ties stay in random order."""
    shuffled = ranks.gather(1, evidence.random_order)
    real = evidence.items.gather(1, evidence.random_order)
    return shuffled.masked_fill(~real, -1.0).argsort(dim=1, descending=True, stable=True)


def _agreement(
    ranks: Weights,
    positive: Weights,
    marked: Bool[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    sizes: Float[Tensor, " batch"],
    chosen: Bool[Tensor, "batch item"],
) -> PerText:
    """Every measure of one ranking.

    Args:
        positive: the ranks of items whose score is positive, 0 for others.
        chosen: its top items, ties in random order.
    """
    chances = top_k_probabilities(ranks, items, sizes)
    undefined = chances.isnan().any(1)
    single, runs = hatexplain_iou(chances, marked, items), eraser_iou(chosen, marked, items)
    return {
        "average_precision": average_precision(ranks, marked, items),
        "auroc": auroc(ranks, marked, items),
        "eraser_auprc": eraser_auprc(ranks, marked, items),
        "token_f1": token_f1(chances, marked, items),
        "hatexplain_precision": single[0],
        "hatexplain_recall": single[1],
        "eraser_precision": runs[0].masked_fill(undefined, torch.nan),
        "eraser_recall": runs[1].masked_fill(undefined, torch.nan),
        "ferret_iou": ferret_iou(positive.masked_fill(undefined[:, None], torch.nan), marked, items, sizes),
    }


def _floors(
    marked: Bool[Tensor, "batch item"], items: Bool[Tensor, "batch item"], sizes: Float[Tensor, " batch"], longest: int
) -> PerText:
    """What a random order gets, in exact expectation."""
    same = torch.ones(items.shape, dtype=torch.float64)
    floors = _agreement(same, same, marked, items, sizes, items)
    runs = _short_texts(expected_eraser_iou, marked, items, sizes, longest)
    return {**floors, **runs, "eraser_auprc": expected_eraser_auprc(marked, items)}


def _ceilings(
    marked: Bool[Tensor, "batch item"], items: Bool[Tensor, "batch item"], sizes: Float[Tensor, " batch"], longest: int
) -> PerText:
    """The best possible of so many items, where that may be less than 1."""
    single = best_hatexplain_iou(marked, items, sizes)
    return {
        "token_f1": best_token_f1(marked, items, sizes),
        "hatexplain_precision": single[0],
        "hatexplain_recall": single[1],
        "ferret_iou": best_ferret_iou(marked, items, sizes),
        **_short_texts(best_eraser_iou, marked, items, sizes, longest),
    }


def _short_texts(
    measure: Callable[..., tuple[Tensor, Tensor]],
    marked: Bool[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    sizes: Float[Tensor, " batch"],
    longest: int,
) -> PerText:
    """Precision and recall of ERASER's spans in texts of at most so many items; NaN in others."""
    short = (items.sum(1) <= longest) & (marked & items).any(1)
    values = torch.full((2, len(items)), torch.nan, dtype=torch.float64)
    if short.any():
        values[:, short] = torch.stack(measure(marked[short], items[short], sizes[short]))
    return {"eraser_precision": values[0], "eraser_recall": values[1]}


def _of_annotators(evidence: Evidence, marks: Marks) -> PerText:
    """How well annotators agree with each other, and attention with all but one of them."""
    items, attention = evidence.items, ties_within(RANKINGS["attention"](evidence), evidence.items)
    return {
        "annotators": annotator_count(marks, items),
        "annotator_f1": annotator_f1(marks, items),
        "annotator_kappa": cohen_kappa(marks, items),
        "average_precision_annotator": against_others(None, marks, items),
        "average_precision_attention_others": against_others(attention, marks, items),
    }


def _named(ranking: str, values: Mapping[str, Tensor]) -> PerText:
    return {f"{measure}_{ranking}": value for measure, value in values.items()}


TEST = BatteryTest(plausibility, QUESTIONS, needs_marks=True)
