"""Which ranking to show in place of attention: chosen on dev, reported on test."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from heedful.battery.question import Columns
from heedful.measures import difference_interval
from heedful.schema import ShowInstead

RANKINGS = {
    "input_gradient": "input gradient",
    "product": "attention x gradient",
    "leave_one_out": "leave-one-out",
    "attention": "attention",
}
"""Rankings that may be shown to a reader, in words."""

MATERIAL = 0.01
"""Share of a text that a ranking must save to be shown instead of attention."""

TestColumns = Mapping[str, Float[Tensor, "test_seed test_text"]]
"""Columns of other texts than dev's."""


def advise(dev: Columns, test: TestColumns) -> ShowInstead | None:
    """The ranking that finds a change of the decision soonest on dev, and how soon each does on test.

    Attention stays unless another is significantly better on dev, by more than MATERIAL. None where no decision can be
    changed.
    """
    fraction = "erase_until_flip.fraction_{}".format
    on_dev = {name: dev[fraction(name)] for name in RANKINGS}
    on_test = {name: test[fraction(name)].nanmean().item() for name in RANKINGS}
    best = min(RANKINGS, key=lambda name: on_dev[name].nanmean().item())
    if on_dev[best].isnan().all() or on_test[best] != on_test[best]:
        return None
    gain = difference_interval(on_dev["attention"], on_dev[best])
    if best == "attention" or not gain.low > MATERIAL:
        share = f"{on_test['attention']:.0%} of a text"
        sentence = f"No other ranking finds a change of the decision sooner than attention does ({share})."
        return ShowInstead(ranking="attention", sentence=sentence, fractions=on_test)
    sentence = (
        f"Show {RANKINGS[best]} instead: it finds a change of the decision after {on_test[best]:.0%} of a text, "
        f"attention after {on_test['attention']:.0%}."
    )
    return ShowInstead(ranking=best, sentence=sentence, fractions=on_test)
