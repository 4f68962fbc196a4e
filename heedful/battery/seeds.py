"""Would another seed have attended elsewhere?"""

from collections.abc import Sequence

import torch

from heedful.battery.question import BatteryTest
from heedful.battery.stability_measures import TOP, stability_question
from heedful.exact import expected_permuted_js
from heedful.measures import js_divergence, top_k_overlap, total_variation_distance
from heedful.types import Findings, Trace


def seeds(trace: Trace, others: Sequence[Trace]) -> Findings:
    """How far attention and prediction of the same model with other seeds lie from its own.

    Over the other seeds: `max_js` and `mean_js` of attention, `max_tvd` and `mean_tvd` of the prediction, `flips`, the
    share that decide otherwise, and `overlap`, the mean share of the TOP most attended items that both have; and
    `shuffled_js`, what shuffled attention would be at, in exact expectation. Of items: the first other's attention.

    Wiegreffe and Pinter (2019, section 3.3); Hu et al. (2023, Figure 2).
    """
    predicted, decided, items = trace.logits.softmax(-1), trace.logits.argmax(-1), trace.encoded.items
    js = torch.stack([js_divergence(other.attention, trace.attention, items) for other in others])
    tvd = torch.stack([total_variation_distance(other.logits.softmax(-1), predicted) for other in others])
    flips = torch.stack([(other.logits.argmax(-1) != decided).double() for other in others])
    overlap = torch.stack([top_k_overlap(other.attention, trace.attention, items, TOP) for other in others])
    values = {
        "max_js": js.amax(0),
        "mean_js": js.mean(0),
        "max_tvd": tvd.amax(0),
        "mean_tvd": tvd.mean(0),
        "flips": flips.mean(0),
        "overlap": overlap.mean(0),
        "shuffled_js": expected_permuted_js(trace.attention.cpu(), trace.encoded.items.cpu()).to(js.device),
    }
    return Findings(values, "exact", {"seed_attention": others[0].attention.cpu()})


TEST = BatteryTest(
    seeds,
    (
        stability_question(
            "seeds",
            "other seeds",
            "seeds",
            "Training the same model again with a different random seed",
            measures=("mean_js", "mean_tvd", "flips"),
        ),
    ),
)
