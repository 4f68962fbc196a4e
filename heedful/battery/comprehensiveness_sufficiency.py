"""Are the top words necessary, and do they suffice?"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from heedful.attribution.subsets import logits_with_zeroed_words
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, ValueFloorBest
from heedful.errors import lookup
from heedful.settings import Positive
from heedful.types import Findings

SIZES = (1, 3, 5, 10, 0.2)
"""How many top words: a count, or, below 1, a share of the text's words."""

Sizes = Annotated[tuple[Positive, ...], Field(min_length=1)]

KINDS = ("comprehensiveness", "sufficiency")

ERASED = {"delete": "deleted from the text", "zero": "left in it with zeros for an embedding"}
"""How the other words are taken away."""


def comprehensiveness_sufficiency(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    sizes: Sizes = SIZES,
    erase: Literal["delete", "zero"] = "delete",
) -> Findings:
    """Drop of the prediction's probability without the most attended words, and with them alone.

    comprehensiveness = p(text) - p(text without the top words), sufficiency = p(text) - p(top words alone), of the
    predicted class; both signed. The top words are necessary where the first is large, and suffice where the second is
    small. For each number of words `comprehensiveness_attention_3` ..., and without a number the mean over all of them
    (AOPC); the same for words drawn at random (`_random`), for the words without which the prediction is least likely
    (`_leave_one_out`), for the top words by gradient x input (`_gradient_x_input`), and for external scores by
    their names (the mean alone). NaN, for all of these, at a size that takes the whole text, or at which one of
    them takes all that has weight. And `emptied`, how far the probability drops with zeros for all embeddings: what all
    words together are worth. DeYoung et al. (2020, section 4.2); Hu et al. (2023,
    appendix), whose code takes away the top words of all texts of a batch in each, so that what it measures is nearly
    `emptied`.

    Args:
        sizes: how many words: a count, or, below 1, a share of the text's words.
        erase: how words are taken away: deleted from the text, or ("zero") their embeddings set to 0 as in Hu et al.'s
            code.
    """
    lookup("erase", erase, ERASED)
    orders = {
        "attention": evidence.ranking("attention"),
        # The order that also breaks ties of the others: uniform attention is then the floor itself.
        "random": evidence.random_order,
        "leave_one_out": evidence.ranking("leave_one_out"),
        "gradient_x_input": evidence.ranking("gradient_x_input"),
    }
    given = {name: evidence.ranking(name) for name in evidence.given}
    lost = _lost(evidence, [*given.values(), *orders.values()], sizes, erase)
    of_given, lost = lost[:, :, : len(given)], lost[:, :, len(given) :]
    # A size that leaves nothing for one order is left out of all, or their means would be over different sizes.
    undefined = lost.isnan().any(2, keepdim=True)
    values: dict[str, Tensor] = {}
    for kind, by_order in zip(KINDS, lost.masked_fill(undefined, torch.nan).unbind(1), strict=True):
        for name, by_size in zip(orders, by_order.unbind(1), strict=True):
            values[f"{kind}_{name}"] = by_size.nanmean(1)
            values |= {
                f"{kind}_{name}_{size_name(size)}": value for size, value in zip(sizes, by_size.unbind(1), strict=True)
            }
    for name, by_size in zip(given, of_given.masked_fill(undefined, torch.nan).unbind(2), strict=True):
        means = dict(zip((f"{kind}_{name}" for kind in KINDS), by_size.nanmean(2).unbind(1), strict=True))
        values |= undefined_where(evidence.missing_scores(name), means)
    nothing = torch.zeros_like(evidence.trace.encoded.items[:, None])
    values["emptied"] = probability_drop_text(
        evidence, logits_with_zeroed_words(evidence.model, evidence.trace, nothing).cpu()
    )[:, 0]
    return Findings(undefined_where(evidence.count < 2, values))


def _lost(
    evidence: Evidence, orders: Sequence[Int[Tensor, "batch item"]], sizes: Sequence[int | float], erase: str
) -> Float[Tensor, "batch kind order size"]:
    """Drop of the prediction's probability without the top words of each order, and with them alone."""
    items, wanted = evidence.items, top_sizes(evidence.count, sizes)
    tops = torch.cat([top_items(order, items, wanted) for order in orders], 1)
    parts = torch.cat([items[:, None] & ~tops, tops], 1)
    if erase == "zero":
        logits = logits_with_zeroed_words(
            evidence.model, evidence.trace, parts.to(evidence.trace.attention.device)
        ).cpu()
    else:
        logits = evidence.subsets.logits(parts)
    lost = probability_drop_text(evidence, logits).unflatten(1, (2, -1, len(sizes)))
    return lost.masked_fill((wanted >= evidence.count[:, None])[:, None, None], torch.nan)


def probability_drop_text(
    evidence: Evidence, logits: Float[Tensor, "batch part classes"]
) -> Float[Tensor, "batch part"]:
    """How far the probability of the decision falls."""
    decided = evidence.predicted[:, None, None].expand(-1, logits.shape[1], 1)
    return evidence.probabilities.amax(-1)[:, None] - logits.softmax(-1).gather(-1, decided)[..., 0]


def top_sizes(count: Float[Tensor, " batch"], sizes: Sequence[int | float]) -> Float[Tensor, "batch size"]:
    """How many of a text's items each size is: all, where there are fewer; a share is rounded up.

    >>> top_sizes(torch.tensor([4.0, 12.0]), (1, 5, 0.2))
    tensor([[1., 4., 1.],
            [1., 5., 3.]])
    """
    # 0.2 x 35 is a little more than 7
    wanted = [torch.full_like(count, size) if size >= 1 else (size * count - 1e-9).ceil() for size in sizes]
    return torch.minimum(torch.stack(wanted, 1), count[:, None])


def top_items(
    order: Int[Tensor, "batch item"], items: Bool[Tensor, "batch item"], sizes: Float[Tensor, "batch size"]
) -> Bool[Tensor, "batch size item"]:
    """Which items are among the first of the order, up to each size."""
    return (order.argsort(1)[:, None] < sizes[..., None]) & items[:, None]


def size_name(size: int | float) -> str:
    """A size as it stands in the name of a measure.

    >>> size_name(3), size_name(0.2)
    ('3', '20%')
    """
    return f"{size:g}" if size >= 1 else f"{size:.0%}"


def _against_random_and_leave_one_out(kind: str) -> Callable[[Columns], ValueFloorBest]:
    """Comprehensiveness, or 1 - sufficiency, of the top words by attention: the larger, the better."""

    def measured(columns: Columns) -> ValueFloorBest:
        lost = (
            columns[f"comprehensiveness_sufficiency.{kind}_{by}"] for by in ("attention", "random", "leave_one_out")
        )
        value, floor, best = (part if kind == "comprehensiveness" else 1 - part for part in lost)
        return value, floor, best

    return measured


def probability_drop(lost: float) -> str:
    """A change of a probability as text, in percentage points.

    >>> probability_drop(0.123), probability_drop(-0.01), probability_drop(0.004)
    ('lowers it by 12', 'raises it by 1', 'does not change it')
    """
    count = round(100 * abs(lost))
    return f"{'raises' if lost < 0 else 'lowers'} it by {count}" if count else "does not change it"


TEST = BatteryTest(
    comprehensiveness_sufficiency,
    (
        Question(
            name="comprehensiveness",
            topic="top words necessary",
            group="relevance",
            wording=lambda item: f"Are the top {item}s necessary?",
            needs=("comprehensiveness_sufficiency",),
            measured=_against_random_and_leave_one_out("comprehensiveness"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"The probability of the prediction, in percentage points: deleting the most attended {answer.item}s "
                f"{probability_drop(answer.value)}, deleting as many random {answer.item}s "
                f"{probability_drop(answer.floor)}, and deleting the top {answer.item}s by leave-one-out "
                f"{probability_drop(answer.best)}."
            ),
        ),
        Question(
            name="sufficiency",
            topic="top words sufficient",
            group="relevance",
            wording=lambda item: f"Do the top {item}s suffice?",
            needs=("comprehensiveness_sufficiency",),
            measured=_against_random_and_leave_one_out("sufficiency"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"The probability of the prediction, in percentage points: keeping only the most attended "
                f"{answer.item}s {probability_drop(1 - answer.value)}, keeping as many random {answer.item}s "
                f"{probability_drop(1 - answer.floor)}, and keeping the top {answer.item}s by leave-one-out "
                f"{probability_drop(1 - answer.best)}."
            ),
        ),
    ),
)
