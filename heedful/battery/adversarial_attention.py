"""How different can attention be for the same prediction? Could the prediction survive without the top words?"""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from heedful.battery.checked_witness import check_adversarial_attention
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, ValueFloorBest, mean, per_100
from heedful.exact import (
    eps_max_js,
    eps_max_js_bound,
    prediction_survives_on_items,
    prediction_survives_without_top,
    without_top,
)
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.same_prediction import most_different
from heedful.types import Findings, Solver

# The authors' own search for adversarial attention: for heads that are not linear, and to compare with the exact.

Decode = Callable[[Float[Tensor, "batch item"]], Float[Tensor, "batch classes"]]


@dataclass(frozen=True)
class SearchResult:
    """Result of the search: several candidates per text."""

    scores: Float[Tensor, "batch candidate item"]
    attention: Float[Tensor, "batch candidate item"]
    tvd: Float[Tensor, "batch candidate"]
    js: Float[Tensor, "batch candidate"]

    def best(self, eps: float) -> tuple[Float[Tensor, " batch"], Float[Tensor, "batch item"]]:
        """The largest divergence among candidates within eps, and its attention; 0 and the first where none is."""
        value = self.js.where(self.tvd <= eps, 0.0).max(1)
        chosen = self.attention.gather(1, value.indices[:, None, None].expand(-1, 1, self.attention.shape[2]))
        return value.values, chosen[:, 0]


def search_adversary(
    decode: Decode,
    attention: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    start: Float[Tensor, "batch candidate item"],
    *,
    eps: float = 0.01,
    steps: int = 500,
) -> SearchResult:
    """Attention far from the given one whose prediction stays within eps, by gradient descent from `start`.

    Minimizes, over several candidates per text at once, the sum of -JSD(candidate, attention) + 500 relu(TVD - eps),
    less the mean JSD between the candidates, by AMSGrad at 0.01 for exactly `steps` steps. Jain and Wallace (2019,
    algorithm 3) as in their code, which differs from their equation 2 in its weights (500 for each candidate, and a
    mean over all pairs of candidates with themselves included), and it adds 1e-10 inside logarithms.
    """
    scores = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=0.01, amsgrad=True)
    probabilities = decode(attention).softmax(-1).detach()
    with torch.enable_grad():
        for _ in range(steps):
            candidates = _softmax(scores, items)
            moved = _moved(decode, candidates, probabilities)
            away = _js(candidates, attention[:, None].expand_as(candidates))
            apart = _js(candidates[:, :, None], candidates[:, None]).mean((1, 2))
            loss = (500 * (moved - eps).relu() - away).sum() - apart.sum()
            (scores.grad,) = torch.autograd.grad(loss, scores)
            optimizer.step()
    final = scores.detach()
    candidates = _softmax(final, items)
    with torch.no_grad():
        moved = _moved(decode, candidates, probabilities)
    away = js_divergence(candidates, attention[:, None].expand_as(candidates))
    return SearchResult(final, candidates, moved, away)


def draw_start(
    items: Bool[Tensor, "batch item"], generator: torch.Generator, candidates: int = 5
) -> Float[Tensor, "batch {candidates} item"]:
    """Where their search begins: scores from N(0, 9)."""
    shape = (len(items), candidates, items.shape[1])
    return 3 * torch.randn(shape, generator=generator, dtype=torch.float64)


def _softmax(
    scores: Float[Tensor, "batch candidate item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch candidate item"]:
    return scores.masked_fill(~items[:, None], -torch.inf).softmax(-1)


def _moved(
    decode: Decode, candidates: Float[Tensor, "batch candidate item"], probabilities: Float[Tensor, "batch classes"]
) -> Float[Tensor, "batch candidate"]:
    predictions = torch.stack([decode(candidate).softmax(-1) for candidate in candidates.unbind(1)], 1)
    return total_variation_distance(predictions, probabilities[:, None].expand_as(predictions))


def _js(p: Tensor, q: Tensor) -> Tensor:
    """Their JSD, with 1e-10 inside the logarithms: not the measure, but what they descend on."""
    middle = (p + q) / 2
    tiny = 1e-10
    left = p * ((p + tiny).log() - (middle + tiny).log())
    right = q * ((q + tiny).log() - (middle + tiny).log())
    return (left + right).sum(-1) / 2


TOPS = (1, 3)
EPS, EPS_QA = 0.01, 0.05
"""How far a prediction may move and still count as the same, as in the papers."""

Eps = Annotated[float, Field(gt=0, lt=1)]


def adversarial_attention(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    eps: Eps | None = None,
    search: bool = False,
    steps: Annotated[int, Field(ge=1)] = 500,
) -> Findings:
    """The largest divergence from the model's attention that keeps the prediction within eps, and its cap for the text.

    `js`, this divergence (where it is not exact, at least so much); `cap`, the largest divergence from this attention
    at all; `without_top_1`, `without_top_3`: whether the prediction survives with no weight on the most attended words
    (NaN if there are no others, or if this is undecided); with `search`, also `js_search`, what the authors'
    optimizer finds. Of items: that attention, where the head is linear.
    Jain and Wallace (2019, algorithm 3), who search; exact for two classes, a lower bound for more.

    Args:
        eps: how far the prediction may move; None: 0.01, and 0.05 for question answering, as in the papers.
        search: also run the authors' search, in addition to the exact optimum.
        steps: number of search steps.
    """
    eps = eps or (EPS_QA if evidence.context.task == "qa" else EPS)
    items, attention = evidence.items, evidence.attention
    shown: dict[str, Tensor] = {}
    if evidence.heads is not None:
        values, adversarial = _witnessed(evidence, evidence.heads, generator, eps, steps if search else 0)
        solver, shown["adversarial_attention"] = "bound", adversarial
    elif evidence.item_logits is None:
        values, solver = _searched(evidence, generator, eps, steps), "search"
    else:
        values, solver, adversarial = _solved(evidence, evidence.item_logits, eps)
        check_adversarial_attention(evidence, adversarial, values["js"], eps)
        shown["adversarial_attention"] = adversarial
        if search:
            values["js_search"] = _searched(evidence, generator, eps, steps)["js"]
    too_few = {f"without_top_{top}": evidence.count <= top for top in TOPS}
    values = {name: value.where(~too_few.get(name, evidence.count < 2), nan) for name, value in values.items()}
    values["cap"] = eps_max_js(attention, torch.zeros(*items.shape, 2), items, eps).cap
    solvers: dict[str, Solver] = {f"without_top_{top}": "search" for top in TOPS} if evidence.heads is not None else {}
    return Findings(undefined_where(evidence.count < 2, values), solver, shown, solvers=solvers)


def _solved(
    evidence: Evidence, item_logits: Float[Tensor, "batch item classes"], eps: float
) -> tuple[dict[str, Tensor], Solver, Float[Tensor, "batch item"]]:
    """The values, how they were solved, and the adversarial attention."""
    problem = (evidence.attention, item_logits, evidence.items)
    # In random order, since the exact forms break ties of attention by position.
    order = evidence.random_order
    shuffled = (
        evidence.attention.gather(1, order),
        item_logits.gather(1, order[..., None].expand_as(item_logits)),
        evidence.items.gather(1, order),
    )
    if item_logits.shape[-1] == 2:
        best = eps_max_js(*problem, eps)
        stands = {f"without_top_{top}": prediction_survives_without_top(*shuffled, top, eps).double() for top in TOPS}
        return {"js": best.js, **stands}, "exact", best.attention
    witness = eps_max_js_bound(*problem, eps)
    # All tops at once: what the witness leaves to be solved is little, and costs about the same for more texts.
    usable = torch.cat([without_top(shuffled[0].double(), shuffled[2], top) for top in TOPS])
    weights, logits, items, known = (
        torch.cat([part] * len(TOPS)) for part in (*shuffled, witness.attention.gather(1, order))
    )
    stands = prediction_survives_on_items(weights, logits, items, usable, eps, known=known).chunk(len(TOPS))
    values = {f"without_top_{top}": own for top, own in zip(TOPS, stands, strict=True)}
    return {"js": witness.js, **values}, "bound", witness.attention


def _searched(evidence: Evidence, generator: torch.Generator, eps: float, steps: int) -> dict[str, Tensor]:
    """What the optimizer finds: over all items, and over those that are not the top ones."""
    attention = evidence.attention
    start = draw_start(evidence.items, generator)
    largest, _ = search_adversary(evidence.decode, attention, evidence.items, start, eps=eps, steps=steps).best(eps)
    values = {"js": largest}
    for top in TOPS:
        rest = evidence.without_top(top)
        rest = torch.where(rest.any(1, keepdim=True), rest, evidence.items)
        tried = search_adversary(evidence.decode, attention, rest, start, eps=eps, steps=steps)
        values[f"without_top_{top}"] = (tried.tvd <= eps).any(1).double()
    return values


def _witnessed(
    evidence: Evidence, model: TransformerModel, generator: torch.Generator, eps: float, steps: int
) -> tuple[dict[str, Tensor], Float[Tensor, "batch item"]]:
    """Lower bounds from attention on one or two words, the same in every head, and from the search."""

    def candidates(
        decode: Decode, attention: Float[Tensor, "batch item"], allowed: Bool[Tensor, "batch item"]
    ) -> Float[Tensor, "batch candidate item"]:
        start = draw_start(allowed.cpu(), generator).to(attention)
        return search_adversary(decode, attention, allowed, start, eps=eps, steps=steps).attention

    searching = candidates if steps else None
    best = most_different(model, evidence.trace, eps, search=searching)
    values = {"js": best.js.cpu()}
    for top in TOPS:
        rest = evidence.without_top(top).to(evidence.trace.attention.device)
        values[f"without_top_{top}"] = most_different(model, evidence.trace, eps, allowed=rest).is_found.double().cpu()
    if steps:
        values["js_search"] = best.js.where(best.is_searched, nan).cpu()
    return values, best.attention.cpu().where(best.is_found.cpu()[:, None], nan)


def _without_top(columns: Columns) -> ValueFloorBest:
    value = 1 - columns["adversarial_attention.without_top_1"]
    return value, torch.zeros_like(value), torch.ones_like(value)


def _closeness(columns: Columns) -> ValueFloorBest:
    cap = columns["adversarial_attention.cap"]
    value = 1 - columns["adversarial_attention.js"] / cap.where(cap > 0, nan)
    return value, torch.zeros_like(value), torch.ones_like(value)


def _by_confidence(columns: Columns) -> dict[str, float]:
    value, _, _ = _closeness(columns)
    sure = columns["prediction.probability"]
    bands = {"below 0.75": sure < 0.75, "0.75 to 0.95": (sure >= 0.75) & (sure < 0.95), "above 0.95": sure >= 0.95}
    return {f"confidence {name}": value.where(band, nan).nanmean().item() for name, band in bands.items()}


TEST = BatteryTest(
    adversarial_attention,
    (
        Question(
            name="without_top",
            topic="answers without the top words",
            group="exclusivity",
            wording=lambda item: f"Is the prediction tied to the top {item}s?",
            needs=("adversarial_attention",),
            measured=_without_top,
            best_kind="ceiling",
            unit="share",
            sentence=lambda answer: (
                f"For {per_100(1 - answer.value)} texts the prediction stays with no attention on the most attended "
                f"{answer.item}; for {per_100(answer.details['stands without the top 3'])}, with none on the top three."
            ),
            details=lambda columns: {
                "stands without the top 3": mean("adversarial_attention.without_top_3")(columns),
            },
            if_searched="Such attention was found for these; it might exist for others, too.",
        ),
        Question(
            name="adversarial_attention",
            topic="other attention, same prediction",
            group="exclusivity",
            wording=lambda item: "Is the prediction tied to this attention?",
            needs=("adversarial_attention",),
            measured=_closeness,
            best_kind="ceiling",
            sentence=lambda answer: (
                f"Attention that gives the same prediction can reach {100 * (1 - answer.value):.0f}% of the maximum "
                "divergence."
            ),
            details=_by_confidence,
            if_inexact="That much was found; attention may be more different still.",
        ),
    ),
)
