"""Every ranking side by side: how faithful it is to the model, and how plausible to people. Never one number."""

from math import isnan

from torch import Tensor

from heedful.battery.plausibility import strongest_baseline
from heedful.battery.question import Columns
from heedful.measures import Estimate, score_interval
from heedful.schema import Ranking
from heedful.schema.rankings import BOUNDS, FRACTION, ranking_title, rankings_in

PRECISION = "plausibility.average_precision_"
MEANS = {
    "erased": FRACTION,
    "comprehensiveness": "comprehensiveness_sufficiency.comprehensiveness_",
    "sufficiency": "comprehensiveness_sufficiency.sufficiency_",
    "average_precision": PRECISION,
    "token_f1": "plausibility.token_f1_",
}
"""The columns whose means are shown of every ranking that has them."""


def compare_rankings(columns: Columns) -> tuple[Ranking, ...]:
    """Every ranking that was tested, with what was measured of it; none where rankings were not."""
    return tuple(_ranking(name, columns) for name in rankings_in(columns))


def _ranking(name: str, columns: Columns) -> Ranking:
    faithful, plausible = _faithful(name, columns), _plausible(name, columns)
    others = [other for other in rankings_in(columns) if other != name]
    agreement = {other: _tau(name, other, columns) for other in others}
    return Ranking(
        name=name,
        title=ranking_title(name),
        faithful=faithful.value,
        faithful_low=faithful.low,
        faithful_high=faithful.high,
        plausible=plausible.value,
        plausible_low=plausible.low,
        plausible_high=plausible.high,
        texts=faithful.n,
        agreement={other: tau for other, tau in agreement.items() if tau is not None},
        **{measure: _mean(columns.get(f"{start}{name}")) for measure, start in MEANS.items()},
    )


def _faithful(name: str, columns: Columns) -> Estimate:
    """Between a random order and the smallest set that changes the decision."""
    if not all(f"{FRACTION}{bound}" in columns for bound in BOUNDS):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value, floor, best = (1 - columns[f"{FRACTION}{ranking}"] for ranking in (name, *BOUNDS))
    return score_interval(value, floor, best)


def _plausible(name: str, columns: Columns) -> Estimate:
    """Between the best of the rankings that know nothing of the model, and the marks themselves."""
    if f"{PRECISION}{name}" not in columns or f"{PRECISION}attention" not in columns:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value, (_, floor) = columns[f"{PRECISION}{name}"], strongest_baseline(columns, "average_precision")
    return score_interval(value, floor, (value * 0 + 1))


def _tau(name: str, other: str, columns: Columns) -> float | None:
    for pair in (f"{name}_{other}", f"{other}_{name}"):
        if f"ranking_agreement.tau_{pair}" in columns:
            return _mean(columns[f"ranking_agreement.tau_{pair}"])
    return None


def _mean(values: Tensor | None) -> float | None:
    mean = float("nan") if values is None else values.nanmean().item()
    return None if isnan(mean) else mean
