"""The odds of a decision where some words are absent: what LIME and SHAP ask of a model."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.deletion import is_kept
from heedful.attribution.gradient_x_input import odds_at
from heedful.attribution.items import item_of_token
from heedful.types import Model, Trace

Forward = Callable[[Float[Tensor, "row item"], Int[Tensor, " row"]], Float[Tensor, " row"]]


def odds_of_present(model: Model, trace: Trace) -> Forward:
    """From which items are present, 1 or 0, and the text of each row, to the log odds of that text's decision.

    An absent item has zeros for embeddings, as integrated gradients begin from.
    """
    owner = item_of_token(trace)

    def odds(present: Float[Tensor, "row item"], texts: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
        keep = is_kept(owner[texts], present > 0.5)
        with torch.no_grad():
            return odds_at(model, trace, trace.embedded.detach()[texts] * keep[..., None], texts)

    return odds


@contextmanager
def seeded_by(generator: torch.Generator) -> Iterator[None]:
    """Inside, torch's own generator, from which captum draws, continues this one; outside it is as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        yield
