"""Does the top word determine the prediction?"""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest, Question, between, per_100
from heedful.measures import js_divergence
from heedful.measures.ranking import mean_over
from heedful.types import Findings

TOPS = ("attention", "weight_gradient", "attention_x_gradient")


def erase_one(evidence: Evidence, generator: torch.Generator) -> Findings:
    """What erasing the top item by attention, weight gradient and their product does, against erasing another item.

    For each ranking: `flips` (does the decision change), `other_flips` (the share of all other items that would change
    it: the exact expectation over a random one), `delta_js` = JS(p, q without the top) - JS(p, q without one other item
    drawn at random), `delta_attention` = the difference of their weights, `mean_delta_js` its exact expectation; and
    `some_item_flips`, whether any single item changes the decision. Of items that share the first place, the mean over
    them. Undefined if fewer than two items have weight: nothing would remain. Serrano and Smith (2019, section 4).
    """
    items, erased = evidence.items, evidence.erased_logits.softmax(-1)
    moved = js_divergence(erased, evidence.probabilities[:, None].expand_as(erased)).masked_fill(~items, 0.0)
    flips = (evidence.erased_logits.argmax(-1) != evidence.predicted[:, None]) & items
    values: dict[str, Tensor] = {"some_item_flips": flips.any(1)}
    for name in TOPS:
        top = evidence.ranking(name)[:, 0]
        other = draw_other(top, evidence, generator)
        values[f"flips_{name}"], values[f"other_flips_{name}"] = top_and_others(flips, evidence.tops(name), items)
        values[f"delta_js_{name}"] = _at(moved, top) - _at(moved, other)
        values[f"delta_attention_{name}"] = _at(evidence.attention, top) - _at(evidence.attention, other)
        top_moves, others_move = top_and_others(moved, evidence.tops(name), items)
        values[f"mean_delta_js_{name}"] = top_moves - others_move
    return Findings(undefined_where(evidence.num_weighted < 2, values))


def top_and_others(
    values: Shaped[Tensor, "batch item"], tops: Bool[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """The expected value of the top item, drawn from those that share the first place, and of another item.

    >>> values, tops = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[True, True, False]])
    >>> top_and_others(values, tops, torch.ones_like(tops))  # the first or the second; then one of the other two
    (tensor([0.5000], dtype=torch.float64), tensor([0.2500], dtype=torch.float64))
    """
    top = mean_over(values, tops)
    total, count = values.double().masked_fill(~items, 0.0).sum(1), items.sum(1)
    return top, (total - top) / (count - 1)


def draw_other(top: Int[Tensor, " batch"], evidence: Evidence, generator: torch.Generator) -> Int[Tensor, " batch"]:
    """One item of each text other than the top one, all equally likely (the top itself if it is the only one)."""
    luck = torch.rand(evidence.items.shape, generator=generator)
    luck = luck.masked_fill(~evidence.items, -1.0).scatter(1, top[:, None], -0.5)
    return luck.argmax(1)


def _at(values: Float[Tensor, "batch item"], index: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    return values.gather(1, index[:, None])[:, 0]


TEST = BatteryTest(
    erase_one,
    (
        Question(
            name="erase_one",
            topic="top word erased",
            group="relevance",
            wording=lambda item: f"Does the top {item} determine the prediction?",
            measured=between(
                "erase_one.flips_attention", "erase_one.other_flips_attention", "erase_one.some_item_flips"
            ),
            unit="share",
            sentence=lambda answer: (
                f"Erasing the most attended {answer.item} flips {per_100(answer.value)} predictions; erasing a random "
                f"other {answer.item} flips {per_100(answer.floor)}. In {per_100(answer.best)} texts, erasing some "
                f"single {answer.item} flips the prediction."
            ),
        ),
    ),
)
