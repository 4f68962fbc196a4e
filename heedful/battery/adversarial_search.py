"""The authors' own search for adversarial attention: for heads that are not linear, and to compare with the exact."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.measures import js_divergence, total_variation

Decode = Callable[[Float[Tensor, "batch item"]], Float[Tensor, "batch classes"]]


@dataclass(frozen=True)
class SearchResult:
    """What the search ended with: several candidates a text."""

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

    Minimises, over several candidates a text at once, the sum of -JSD(candidate, attention) + 500 relu(TVD - eps), less
    the mean JSD between the candidates, by AMSGrad at 0.01 for exactly `steps` steps. Jain and Wallace (2019, algorithm
    3) as their code has it: it differs from their equation 2 in its weights (500 for each candidate, and a mean over
    all pairs of candidates with themselves included), and it adds 1e-10 inside logarithms.
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
    return total_variation(predictions, probabilities[:, None].expand_as(predictions))


def _js(p: Tensor, q: Tensor) -> Tensor:
    """Their JSD, with 1e-10 inside the logarithms: not the measure, but what they descend on."""
    middle = (p + q) / 2
    tiny = 1e-10
    left = p * ((p + tiny).log() - (middle + tiny).log())
    right = q * ((q + tiny).log() - (middle + tiny).log())
    return (left + right).sum(-1) / 2
