"""How different can attention be for the same answer? And could the answer stand without the top words?"""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.adversarial_search import draw_start, search_adversary
from heedful.battery.evidence import Evidence, undefined_where
from heedful.exact import (
    answer_stands_without_top,
    answer_stands_without_top_bracket,
    eps_max_js,
    eps_max_js_bracket,
    without_top,
)
from heedful.types import Findings, Solver

TOPS = (1, 3)


def adversary(
    evidence: Evidence, generator: torch.Generator, *, eps: float = 0.01, search: bool = False, steps: int = 500
) -> Findings:
    """The largest divergence from the model's attention that keeps the prediction within eps, and its cap for the text.

    `js` (and `js_upper`, a bound, the same for two classes); `cap`, the largest divergence from this attention at all;
    `without_top_1`, `without_top_3`: whether the answer can be kept with no weight on the most attended words (NaN
    where there are no others, or where it is not decided); with `search`, also `js_search`, what the authors' optimiser
    finds.
    Jain and Wallace (2019, algorithm 3), who search; exact for two classes, bracketed for more.
    """
    items, attention = evidence.items, evidence.attention
    if evidence.item_logits is None:
        values, solver = _searched(evidence, generator, eps, steps), "search"
    else:
        values, solver = _solved(evidence, evidence.item_logits, eps)
        if search:
            values["js_search"] = _searched(evidence, generator, eps, steps)["js"]
    few = {f"without_top_{top}": evidence.count <= top for top in TOPS}
    values = {name: value.where(~few.get(name, evidence.count < 2), torch.nan) for name, value in values.items()}
    values["cap"] = eps_max_js(attention, torch.zeros(*items.shape, 2), items, eps).cap
    return Findings(undefined_where(evidence.count < 2, values), solver)


def adversary_attention(evidence: Evidence, *, eps: float = 0.01) -> Float[Tensor, "batch item"] | None:
    """The most different attention that keeps the answer, to be shown; None where the head is not linear."""
    if evidence.item_logits is None:
        return None
    solve = eps_max_js if evidence.item_logits.shape[-1] == 2 else eps_max_js_bracket
    return solve(evidence.attention, evidence.item_logits, evidence.items, eps).attention


def _solved(
    evidence: Evidence, item_logits: Float[Tensor, "batch item classes"], eps: float
) -> tuple[dict[str, Tensor], Solver]:
    given = (evidence.attention, item_logits, evidence.items)
    if item_logits.shape[-1] == 2:
        best = eps_max_js(*given, eps)
        stands = {f"without_top_{top}": answer_stands_without_top(*given, top, eps).double() for top in TOPS}
        return {"js": best.js, "js_upper": best.js, **stands}, "exact"
    bracket = eps_max_js_bracket(*given, eps)
    stands = {f"without_top_{top}": answer_stands_without_top_bracket(*given, top, eps) for top in TOPS}
    return {"js": bracket.lower, "js_upper": bracket.upper, **stands}, "bound"


def _searched(evidence: Evidence, generator: torch.Generator, eps: float, steps: int) -> dict[str, Tensor]:
    """What the optimiser finds: over all items, and over those that are not the top ones."""
    attention = evidence.attention
    start = draw_start(evidence.items, generator)
    found, _ = search_adversary(evidence.decode, attention, evidence.items, start, eps=eps, steps=steps).best(eps)
    values = {"js": found, "js_upper": torch.full_like(found, torch.nan)}
    for top in TOPS:
        rest = without_top(attention, evidence.items, top)
        rest = torch.where(rest.any(1, keepdim=True), rest, evidence.items)
        tried = search_adversary(evidence.decode, attention, rest, start, eps=eps, steps=steps)
        values[f"without_top_{top}"] = (tried.tvd <= eps).any(1).double()
    return values
