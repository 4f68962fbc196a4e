"""Is attention stable where a word's embedding is noisy?"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import items_with
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.battery.stability_measures import (
    Radii,
    moves,
    rerun_perturbed,
    stability_question,
    suffixes,
)
from heedful.types import Findings, Trace


def embedding_noise(evidence: Evidence, generator: torch.Generator, *, radii: Radii = (0.01,)) -> Findings:
    """How far Gaussian noise on the embedding of one word, drawn at random, moves attention and prediction.

    x' = x + N(0, radius I): `js`, `tvd`, `flips`, `overlap` (see `moves`) at the first radius, `js_0.05` ... at further
    ones, all with the same word and the same noise, scaled; and `shuffled_js`, what shuffled attention would be at, in
    exact expectation. Of items: attention at the first radius, and which item is the noisy one (or has it).
    Hu et al. (2023, section 5.2); their published code does something else, see `embedding_attack`.

    Args:
        radii: variances of the noise, of each coordinate; the verdict speaks of the first.
    """
    chosen, noise = noisy_word(evidence.trace, generator)
    values = {"shuffled_js": evidence.shuffled_js}
    own = evidence.trace.embedded[chosen]
    others = [rerun_perturbed(evidence, chosen, own + radius**0.5 * noise) for radius in radii]
    for suffix, other in zip(suffixes(radii), others, strict=True):
        values |= {f"{name}{suffix}": value for name, value in moves(evidence, other).items()}
    where = items_with(evidence.trace, chosen)
    shown = {"noisy_attention": others[0].attention.cpu(), "noisy": where.double().cpu()}
    return Findings(undefined_where(evidence.count < 2, values), items=shown)


def noise_on_one_word(trace: Trace, generator: torch.Generator) -> Float[Tensor, "batch time embed"]:
    """Standard normal numbers for one word of each text, all words equally likely; 0 elsewhere."""
    chosen, noise = noisy_word(trace, generator)
    return chosen[..., None] * noise[:, None]


def noisy_word(
    trace: Trace, generator: torch.Generator
) -> tuple[Bool[Tensor, "batch time"], Float[Tensor, "batch embed"]]:
    """One word of each text, all words equally likely, and standard normal numbers for it."""
    words = trace.batch.attendable_mask
    luck = torch.rand(words.shape, generator=generator).to(words.device).masked_fill(~words, -1.0)
    noise = torch.randn(len(words), trace.embedded.shape[-1], generator=generator, dtype=torch.float64)
    chosen = torch.zeros_like(words).scatter(1, luck.argmax(1, keepdim=True), True)
    return chosen, noise.to(trace.embedded)


TEST = BatteryTest(
    embedding_noise,
    (
        stability_question(
            "embedding_noise",
            "embedding noise",
            "embedding noise",
            "A little noise on how the model sees one word",
        ),
    ),
)
