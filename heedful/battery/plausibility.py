"""Does attention point where people point? That is no evidence of how the model decides, and never mixed with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import item_of_token, items_with
from heedful.battery.comprehensiveness_sufficiency import top_items, top_sizes
from heedful.battery.evidence import RANKINGS, Context, Evidence, Weights, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, QuestionResult, ValueFloorBest, Values, mean
from heedful.data.tokenizer import SPECIAL
from heedful.errors import lookup
from heedful.measures.annotators import Marks, against_others, annotator_count, annotator_f1, cohen_kappa, union_of
from heedful.measures.average_precision import (
    auroc,
    average_precision,
    best_token_f1,
    eraser_auprc,
    expected_eraser_auprc,
    token_f1,
    top_k_probabilities,
)
from heedful.measures.ranking import ties_within
from heedful.measures.span_overlap import (
    best_eraser_iou,
    best_hatexplain_iou,
    eraser_iou,
    expected_eraser_iou,
    f1_of_means,
    hatexplain_iou,
)
from heedful.settings import Count, Positive
from heedful.types import Findings

# Uninformed rankings, which do not use the model: the first words, the longest, the rarest.


def baseline_scores(evidence: Evidence) -> dict[str, Weights]:
    """Scores of each item by its position (`first`), its length (`longest`) and how rare its words are (`rarest`).

    The length is in characters; for a word outside the vocabulary, it is the mean of the text's others. Rarity is
    measured in the texts that words were counted on. A sentence is as long as its words together, and as rare as its
    rarest. NaN if words, or their counts, are not known.
    """
    lengths, counts = (evidence.context.once(table).to(torch.float64) for table in (_lengths, _counts))
    positions = torch.arange(evidence.items.shape[1], dtype=torch.float64).expand(evidence.items.shape)
    if evidence.context.item_words is not None:
        # Words of several tokens have numbers of their own.
        numbers = evidence.context.item_words.numbers(evidence.trace.batch).cpu()
        longest = _with_mean(_looked_up(lengths, numbers), evidence.items)
        rarest = -_looked_up(counts, numbers)
        return {"first": -positions, "longest": longest, "rarest": rarest.masked_fill(~evidence.items, 0.0)}
    tokens, places = evidence.trace.batch.tokens.cpu(), evidence.trace.batch.attendable_mask.cpu()
    return {
        "first": -positions,
        "longest": _by_item(evidence, _with_mean(_looked_up(lengths, tokens), places), "sum"),
        "rarest": -_by_item(evidence, _looked_up(counts, tokens), "amin"),
    }


def _lengths(context: Context) -> Float[Tensor, " token"]:
    """The characters of each word of the vocabulary; NaN for symbols."""
    sizes = [torch.nan if word in SPECIAL else float(len(word)) for word in context.vocabulary]
    return torch.tensor(sizes, dtype=torch.float64)


def _counts(context: Context) -> Float[Tensor, " token"]:
    """How often each token occurs."""
    return context.token_counts().sum(1).double()


def _looked_up(table: Float[Tensor, " token"], tokens: Tensor) -> Float[Tensor, "batch time"]:
    """The entry of each token; NaN for tokens beyond the table."""
    if not len(table):
        return torch.full(tokens.shape, torch.nan, dtype=torch.float64)
    known = (tokens >= 0) & (tokens < len(table))
    return table[tokens.clamp(0, len(table) - 1)].where(known, torch.nan)


def _with_mean(values: Float[Tensor, "batch place"], real: Bool[Tensor, "batch place"]) -> Float[Tensor, "batch place"]:
    """The values with the mean of the text's known words in place of what is not known."""
    mean = values.where(real, torch.nan).nanmean(1, keepdim=True)
    return torch.where(values.isnan(), mean, values)


def _by_item(evidence: Evidence, values: Float[Tensor, "batch time"], reduce: str) -> Weights:
    """The sum, or the smallest, of the tokens of each item; NaN in texts where no value is known."""
    word_ids = item_of_token(evidence.trace).cpu()
    belongs = (word_ids >= 0) & evidence.trace.batch.attendable_mask.cpu()
    width = evidence.items.shape[1]
    known = values.nan_to_num(0.0)
    start = torch.zeros(len(values), width + 1, dtype=torch.float64)
    index = word_ids.where(belongs, width)
    reduced = start.scatter_reduce(1, index, known, reduce, include_self=False)[:, :-1]
    unknown = (values.isnan() & belongs).any(1, keepdim=True)
    return reduced.masked_fill(unknown & evidence.items, torch.nan)


# What the verdict asks about the agreement of attention with people, and in which words.

BASELINES = {
    "random": "random order",
    "first": "the first words first",
    "longest": "the longest words first",
    "rarest": "the rarest words first",
}
"""Uninformed rankings, which do not use the model, with their names as text."""

NO_EVIDENCE = "That is agreement with people, and no evidence of how the model decides."
SPANS = {"hatexplain": "HateXplain", "eraser": "ERASER"}


def strongest_baseline(columns: Columns, measure: str) -> tuple[str, Values]:
    """The trivial ranking that agrees with people best, on average over the texts, and its values."""
    defined = ~columns[f"plausibility.{measure}_attention"].isnan()
    candidates = {name: columns[f"plausibility.{measure}_{name}"] for name in BASELINES}
    # One that is not known for every text (words or counts are missing) is no floor.
    usable = {name: values for name, values in candidates.items() if not (values.isnan() & defined).any()}
    name = max(usable or {"random": None}, key=lambda name: candidates[name].nanmean().nan_to_num(-1.0).item())
    return name, candidates[name]


def _between(measure: str, best: str | None) -> Callable[[Columns], ValueFloorBest]:
    def measured(columns: Columns) -> ValueFloorBest:
        value, (_, floor) = columns[f"plausibility.{measure}_attention"], strongest_baseline(columns, measure)
        return value, floor, torch.ones_like(value) if best is None else columns[f"plausibility.{measure}_{best}"]

    return measured


def _details(measure: str) -> Callable[[Columns], dict[str, float]]:
    """The same measure of every other ranking, by what it is."""
    start = f"plausibility.{measure}_"

    def details(columns: Columns) -> dict[str, float]:
        names = [name.removeprefix(start) for name in columns if name.startswith(start)]
        values = {name: mean(f"{start}{name}")(columns) for name in names if name not in ("attention", "best")}
        return {BASELINES.get(name, name.replace("_", " ")): value for name, value in values.items() if value == value}

    return details


def _ranking_details(columns: Columns) -> dict[str, float]:
    details = _details("average_precision")(columns)
    annotators = {
        "another annotator, against all others": details.pop("annotator", torch.nan),
        "attention, against all annotators but one": details.pop("attention others", torch.nan),
        "AUROC of attention": mean("plausibility.auroc_attention")(columns),
        "share of words in the rationale": mean("plausibility.marked")(columns),
    }
    return {**details, **{name: value for name, value in annotators.items() if value == value}}


def _top_details(columns: Columns) -> dict[str, float]:
    """Token F1 of other rankings, and IOU by its two definitions, each with its floor and its best."""
    details = _details("token_f1")(columns)
    for ranking, suffix in (("attention", ""), ("random", " of random order"), ("best", ", best possible")):
        for source, title in SPANS.items():
            pair = (columns[f"plausibility.{source}_{part}_{ranking}"] for part in ("precision", "recall"))
            details[f"IOU F1 as {title} has it{suffix}"] = f1_of_means(*pair)
    return {name: value for name, value in details.items() if value == value}


def _ranking_sentence(answer: QuestionResult) -> str:
    strongest = max(BASELINES.values(), key=lambda name: answer.details.get(name, -1.0))
    people = answer.details.get("another annotator, against all others")
    other = "" if people is None else f"; another annotator's rationale has {people:.2f} against the others'"
    return (
        f"Ranked by attention, the {answer.item}s of the human rationales have an average precision of "
        f"{answer.value:.2f}. The rationales themselves reach 1; {strongest}, the best of four uninformed rankings, "
        f"reaches {answer.floor:.2f}{other}. {NO_EVIDENCE}"
    )


def _top_sentence(answer: QuestionResult) -> str:
    return (
        f"The most attended {answer.item}s and the human rationales agree with an F1 of {answer.value:.2f}. As many "
        f"{answer.item}s by an uninformed ranking reach {answer.floor:.2f}, and no other choice of "
        f"as many more than {answer.best:.2f}. {NO_EVIDENCE}"
    )


QUESTIONS = (
    Question(
        name="plausibility",
        topic="human rationales",
        group="plausibility",
        wording=lambda item: f"Does attention rank the {item}s of human rationales first?",
        needs=("plausibility.average_precision_attention",),
        measured=_between("average_precision", None),
        sentence=_ranking_sentence,
        details=_ranking_details,
    ),
    Question(
        name="plausible_top_words",
        topic="top words in human rationales",
        group="plausibility",
        wording=lambda item: f"Are the top {item}s those of human rationales?",
        needs=("plausibility.token_f1_attention",),
        measured=_between("token_f1", "best"),
        sentence=_top_sentence,
        details=_top_details,
    ),
)


NO_MARKS = "These texts have no human rationales (own files: name their column with --rationale)."

PerText = dict[str, Float[Tensor, " batch"]]


def plausibility(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    k: Positive = 5.0,
    by: tuple[str, ...] = tuple(RANKINGS),
    longest_exact: Count = 200,
) -> Findings:
    """How well attention, and every other ranking, agrees with the human rationales (of any annotator).

    By ranking: `average_precision_attention` ..., the main number; `auroc_`; of the top k `token_f1_`, and IOU by its
    two definitions: `hatexplain_precision_`, `hatexplain_recall_` (each item a span), `eraser_precision_`,
    `eraser_recall_` (runs of items, ties in random order); and `eraser_auprc_`, which rewards ties, for comparison with
    printed tables. Each also for trivial rankings: `_random` (the exact expectation), `_first`, `_longest` and
    `_rarest` words; and `_best`, the best possible at this k, where that is not 1. A sentence is marked if a word of it
    is.

    `marked`, the share of items; with two annotators or more `annotator_f1`, `annotator_kappa`, and, against all
    annotators but one, `average_precision_annotator` of that one and `average_precision_attention_others` of attention.
    Undefined if the rationale is empty; average precision and AUROC also if it is the whole text.
    DeYoung et al. (2020, arXiv:1911.03429, section 4.1); Mathew et al. (2021, arXiv:2012.10289).

    Args:
        k: how many of the top items: a count, or, below 1, a share of the text's items.
        by: only these of the named rankings, in addition to external scores.
        longest_exact: texts with more items get no floor and best of ERASER's IOU, which take seconds there.
    """
    marks = item_rationales(evidence)
    if marks is None:
        return Findings(skipped=NO_MARKS)
    items, marked = evidence.items, union_of(marks)
    sizes = top_sizes(evidence.count, (k,))[:, 0].floor()
    top = _TopItems(marked, items, sizes, longest_exact)
    values: PerText = {"marked": (marked & items).sum(1) / evidence.count}
    rankings = {name: lookup("ranking", name, RANKINGS)(evidence) for name in by}
    baselines = baseline_scores(evidence)
    for name, scores in {**rankings, **evidence.given, **baselines}.items():
        ranks = ties_within(scores, items)
        order = evidence.random_order.gather(1, _descending(ranks, evidence))
        chosen = top_items(order, items, sizes[:, None])[:, 0]
        values |= _named(name, top.agreement(ranks, chosen))
    values |= _named("random", top.floors())
    values |= _named("best", top.ceilings())
    values["eraser_auprc_constant"] = eraser_auprc(torch.zeros_like(evidence.attention), marked, items)
    values |= _of_annotators(evidence, marks)
    return Findings(undefined_where(~(marked & items).any(1) | (evidence.count < 2), values))


def item_rationales(evidence: Evidence) -> Marks | None:
    """What each annotator marked of the items: 1 or 0, NaN for annotators that a text does not have."""
    marks = evidence.trace.batch.marks
    if marks is None:
        return None
    trace, absent = evidence.trace, marks.isnan().all(2, keepdim=True).cpu()
    of_items = [items_with(trace, (own > 0) & trace.batch.attendable_mask) for own in marks.unbind(1)]
    return torch.stack(of_items, 1).cpu().double().masked_fill(absent, torch.nan)


def _descending(ranks: Weights, evidence: Evidence) -> Tensor:
    """The order of the randomly ordered items from the largest rank down: ties stay in random order."""
    shuffled = ranks.gather(1, evidence.random_order)
    real = evidence.items.gather(1, evidence.random_order)
    return shuffled.masked_fill(~real, -1.0).argsort(dim=1, descending=True, stable=True)


@dataclass(frozen=True)
class _TopItems:
    """Texts with marked items, and how many of their top items count.

    Args:
        longest: texts with more items get no floor and best of ERASER's spans.
    """

    marked: Bool[Tensor, "batch item"]
    items: Bool[Tensor, "batch item"]
    sizes: Float[Tensor, " batch"]
    longest: int

    def agreement(self, ranks: Weights, chosen: Bool[Tensor, "batch item"]) -> PerText:
        """Every measure of one ranking.

        Args:
            chosen: its top items, ties in random order.
        """
        marked, items = self.marked, self.items
        chances = top_k_probabilities(ranks, items, self.sizes)
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
        }

    def floors(self) -> PerText:
        """What a random order gets, in exact expectation."""
        same = torch.ones(self.items.shape, dtype=torch.float64)
        expected = {"eraser_auprc": expected_eraser_auprc(self.marked, self.items)}
        return {**self.agreement(same, self.items), **self._of_short_texts(expected_eraser_iou), **expected}

    def ceilings(self) -> PerText:
        """The best possible value for each number of items, where that can be less than 1."""
        problem = self.marked, self.items, self.sizes
        single = best_hatexplain_iou(*problem)
        return {
            "token_f1": best_token_f1(*problem),
            "hatexplain_precision": single[0],
            "hatexplain_recall": single[1],
            **self._of_short_texts(best_eraser_iou),
        }

    def _of_short_texts(self, measure: Callable[..., tuple[Tensor, Tensor]]) -> PerText:
        """Precision and recall of ERASER's spans in texts of at most `longest` items; NaN in others."""
        short = (self.items.sum(1) <= self.longest) & (self.marked & self.items).any(1)
        values = torch.full((2, len(self.items)), torch.nan, dtype=torch.float64)
        if short.any():
            values[:, short] = torch.stack(measure(self.marked[short], self.items[short], self.sizes[short]))
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


TEST = BatteryTest(plausibility, QUESTIONS, needs_rationales=True)
