"""Items erased and the rest renormalized: the top item, down a ranking, and the smallest set that flips."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import DataError
from heedful.exact import first_flip, prefix_logits
from heedful.explaining.counterfactuals import smallest_sets
from heedful.schema.rankings import ranking_title
from heedful.server.actions.action import SERRANO_SMITH, answer_with, button, check_several, kept_attention
from heedful.server.contract import ActionResult, ActOptions, ErasureStep
from heedful.server.text_state import COSTLY, is_affordable, prediction_change
from heedful.subjects.read_text import Reader, ReadText

SMALLER = {"exact": "No smaller set flips it.", "search": "A smaller set might flip it."}


@button(
    "Remove the top word",
    "Does the prediction depend on the most attended word? Its weight goes to the others, in proportion.",
    SERRANO_SMITH,
)
def remove_top(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Erase the most attended item; of equally attended ones the first."""
    _check_weighed(read)
    top = _order(read, "attention")[:, :1]
    keep = read.evidence.items.scatter(1, top, False)
    logits = read.evidence.erased_logits[:, int(top)]
    item = _items(read, top[0])[0]
    before = f"Without “{read.labels[item]:.60}”:"
    return answer_with(remove_top, read, kept_attention(read, keep), logits, before=before, more={"items": [item]})


@button(
    "Erase down the ranking",
    "How many words must be erased, from the most important down, before the prediction flips?",
    SERRANO_SMITH,
    ("ranking",),
)
def erase_ranking(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Erase every prefix of a ranking in turn, as long as some weight is left."""
    _check_weighed(read)
    if options.ranking in COSTLY and not is_affordable(read):
        raise DataError(
            f"options.ranking: {ranking_title(options.ranking)} takes too long to compute for this text. "
            "Choose the ranking attention, or a shorter text."
        )
    order = _order(read, options.ranking)
    logits = _prefixes(read, order)
    steps = [
        ErasureStep(item=item, **dict(prediction_change(read, row[None])))
        for item, row in zip(_items(read, order[0]), logits, strict=True)
        if bool(row.isfinite().all())
    ]
    flips_at = _flips_at(read, order, steps)
    erased = (flips_at or len(steps)) if steps else 0
    keep = read.evidence.items.scatter(1, order[:, :erased], False)
    title = ranking_title(options.ranking)
    before = (
        f"No prefix of the ranking by {title} flips the prediction. Without the first {erased} of {read.count} items:"
        if flips_at is None
        else f"Ranked by {title}, {flips_at} of {read.count} items must be erased before the prediction flips:"
    )
    more = {"steps": steps, "flips_at": flips_at, "items": [step.item for step in steps[:erased]]}
    attention = kept_attention(read, keep)
    return answer_with(erase_ranking, read, attention, logits[erased - 1][None], before=before, more=more)


@button(
    "Smallest set that flips the prediction",
    "What is the smallest set of words without which the prediction flips?",
    f"{SERRANO_SMITH}, who call the search over subsets prohibitive; here it is solved",
)
def smallest_set(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """As in `heedful explain`: exact if the head is linear, otherwise the smallest set that was found."""
    _check_weighed(read)
    evidence = read.evidence
    if evidence.item_logits is None and not is_affordable(read):
        raise DataError("text must be shorter: this model's head is not linear, so rankings are searched.")
    smallest = smallest_sets(evidence, evidence.context.labels)[0]
    if smallest is None:
        verb = "flips" if evidence.solver == "exact" else "was found to flip"
        before, erased = f"No set of items {verb} the prediction:", ()
        logits, attention = evidence.trace.logits.cpu(), evidence.attention
    else:
        erased = smallest.positions
        places = read.real.nonzero()[:, 0][list(erased)]
        keep = evidence.items.scatter(1, places[None], False)
        before = f"Without {'this item' if len(erased) == 1 else f'these {len(erased)} items'}:"
        logits, attention = evidence.decode_kept(keep), kept_attention(read, keep)
    return answer_with(
        smallest_set,
        read,
        attention,
        logits,
        solver=evidence.solver,
        before=before,
        after=SMALLER[evidence.solver] if erased else "",
        more={"items": list(erased)},
    )


def _check_weighed(read: ReadText) -> None:
    check_several(read)
    if float(read.evidence.num_weighted[0]) < 2:
        raise DataError("text must have at least two items with weight: without the only one, nothing is left.")


def _order(read: ReadText, ranking: str) -> Int[Tensor, "1 item"]:
    """The places of the items from the most important down; ties in the order of the text."""
    in_order = torch.arange(read.evidence.items.shape[1])[None]
    return read.evidence.ranked(ranking, in_order)


def _items(read: ReadText, places: Int[Tensor, " some"]) -> list[int]:
    """The items at these places of the evidence; places without an item, which are last, are left out."""
    number = read.real.long().cumsum(0) - 1
    return [int(number[place]) for place in places.tolist() if bool(read.real[place])]


def _prefixes(read: ReadText, order: Int[Tensor, "1 item"]) -> Float[Tensor, "item classes"]:
    """The logits after each prefix; NaN if no weight is left."""
    evidence, count = read.evidence, read.count
    if evidence.item_logits is not None:
        return prefix_logits(evidence.log_attention, evidence.item_logits, order)[0, :count]
    keeps: list[Bool[Tensor, " item"]] = []
    keep = read.real
    for place in order[0, :count]:
        keep = keep.scatter(0, place[None], False)
        keeps.append(keep)
    return evidence.decode_each_kept(torch.stack(keeps)[None])[0]


def _flips_at(read: ReadText, order: Int[Tensor, "1 item"], steps: list[ErasureStep]) -> int | None:
    """Number of items after which the prediction first flips."""
    evidence = read.evidence
    if evidence.item_logits is None:
        own = int(evidence.predicted[0])
        return next((number for number, step in enumerate(steps, start=1) if step.predicted != own), None)
    count = float(first_flip(evidence.log_attention, evidence.item_logits, order, evidence.items).count[0])
    return None if count != count else int(count)
