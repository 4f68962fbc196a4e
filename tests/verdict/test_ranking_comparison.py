"""Rankings side by side: their scores by hand."""

import pytest

from heedful.schema.rankings import FRACTION
from heedful.verdict.ranking_comparison import compare_rankings
from support.columns import TEXTS, column


def columns(**changes):
    fractions = {
        "attention": 0.5,
        "attention_x_gradient": 0.3,
        "gradient_x_input": 0.6,
        "leave_one_out": 0.6,
        "mine": 0.2,
    }
    fractions |= {"random": 0.9, "minimal": 0.1, **changes}
    made = {f"{FRACTION}{name}": column(value) for name, value in fractions.items()}
    made |= {f"plausibility.average_precision_{name}": column(0.4) for name in ("first", "longest", "rarest", "random")}
    made |= {f"plausibility.average_precision_{name}": column(0.7, 0.5) for name in ("attention", "mine")}
    made["plausibility.average_precision_longest"] = column(0.5)
    made["ranking_agreement.tau_attention_mine"] = column(0.25)
    return made


def test_scores_lie_between_floor_and_best_by_hand():
    by_name = {ranking.name: ranking for ranking in compare_rankings(columns())}
    assert list(by_name) == ["attention", "gradient_x_input", "attention_x_gradient", "leave_one_out", "mine"]
    mine = by_name["mine"]
    assert mine.faithful == pytest.approx((0.8 - 0.1) / (0.9 - 0.1)) and mine.erased == pytest.approx(0.2)
    assert mine.plausible == pytest.approx((0.6 - 0.5) / (1 - 0.5)) and mine.average_precision == pytest.approx(0.6)
    assert mine.plausible_low < mine.plausible < mine.plausible_high
    assert mine.agreement == {"attention": 0.25} and by_name["attention"].agreement == {"mine": 0.25}
    assert by_name["attention_x_gradient"].plausible is None and mine.texts == TEXTS
