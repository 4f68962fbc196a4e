"""Whether a witness holds: what an exact form claims of an attention, or of a set of items, is decoded by the model."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.evidence import Evidence
from heedful.errors import HeedfulError
from heedful.exact import item_margins
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.linearity import logit_tolerance

ROUNDING = 1e-6
"""How far weights may be from a distribution, and a divergence from what is claimed."""


class Claim(NamedTuple):
    """What is claimed of each text's witness, what the model makes of it, and whether the two agree."""

    wording: str
    claimed: Float[Tensor, " batch"]
    decoded: Float[Tensor, " batch"]
    holds: Bool[Tensor, " batch"]


@torch.no_grad()
def check_adversarial_attention(
    evidence: Evidence, attention: Float[Tensor, "batch item"], js: Float[Tensor, " batch"], eps: float
) -> None:
    """Raise unless each row is attention over the items, so far from the model's, that predicts within eps of it.

    Texts without a divergence have no witness.
    """
    items, limit = evidence.items, torch.full_like(js, eps)
    own = evidence.attention.double().masked_fill(~items, 0.0)
    own = own / own.sum(1, keepdim=True)
    on_items, in_all = attention.clamp_min(0.0).masked_fill(~items, 0.0).sum(1), attention.abs().sum(1)
    apart = js_divergence(own, attention, items)
    moved = total_variation_distance(evidence.decode(attention).softmax(-1), evidence.decode(own).softmax(-1)).double()
    claims = (
        _equal("its weights on the items should sum to", torch.ones_like(js), on_items),
        _equal("the sizes of all its weights should sum to", torch.ones_like(js), in_all),
        _equal("its divergence from the model's attention should be", js, apart),
        # Logits that are off by d move a prediction by d / 2 at most; two predictions are compared.
        Claim("its prediction should move by at most", limit, moved, moved <= limit + _tolerance(evidence)),
    )
    _require(evidence, "adversarial_attention", claims, ~js.isnan())


@torch.no_grad()
def check_flip_set(evidence: Evidence, erased: Bool[Tensor, "batch item"]) -> None:
    """Raise unless the decision changes without the items of each set; empty sets claim nothing.

    Where classes tie within rounding, before or after, any of them may be called the decision.
    """
    tolerance = _tolerance(evidence)
    before, after = (
        item_margins(logits[:, None], evidence.predicted)[:, 0].double()
        for logits in (evidence.trace.logits.cpu(), evidence.decode_kept(evidence.items & ~erased))
    )
    holds = (after <= tolerance) | (before <= tolerance)
    claim = Claim("with the set erased, the decision should lead by at most", torch.zeros_like(after), after, holds)
    _require(evidence, "erase_until_flip", (claim,), erased.any(1))


def _equal(wording: str, claimed: Float[Tensor, " batch"], decoded: Float[Tensor, " batch"]) -> Claim:
    return Claim(wording, claimed, decoded, (decoded - claimed).abs() <= ROUNDING)


def _tolerance(evidence: Evidence) -> float:
    assert evidence.item_logits is not None, "only exact forms have witnesses"
    return logit_tolerance(evidence.item_logits, evidence.trace)


def _require(evidence: Evidence, test: str, claims: tuple[Claim, ...], has_witness: Bool[Tensor, " batch"]) -> None:
    for wording, claimed, decoded, holds in claims:
        # A NaN agrees with nothing.
        wrong = (~holds & has_witness).nonzero()[:, 0].tolist()
        if wrong:
            text = wrong[0]
            raise HeedfulError(
                f"test '{test}': the exact answer for text {int(evidence.trace.batch.index[text])} does not hold when "
                f"`decode` is run on it: {wording} {claimed[text].item():.9g}; the number is "
                f"{decoded[text].item():.9g}. If you defined `item_logits`, correct it, or remove it, and answers are "
                "searched for instead. If the model is Heedful's own, this is a bug in Heedful: please report it."
            )
