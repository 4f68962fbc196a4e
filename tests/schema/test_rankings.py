from heedful.battery.evidence import RANKINGS
from heedful.schema.rankings import BOUNDS, FRACTION, METHODS, SHOWN, TAKEN, ranking_title, rankings_in


def test_every_ranking_of_the_battery_has_a_name_in_words():
    assert set(RANKINGS) <= {*SHOWN, *METHODS}
    assert ranking_title("leave_one_out") == "leave-one-out" and ranking_title("mine") == "mine"


def test_rankings_are_told_from_their_columns_attention_first():
    names = ["zeta", "lime", *BOUNDS, *RANKINGS]
    columns = [f"{FRACTION}{name}" for name in names] + ["erase_until_flip.mass_other"]
    assert rankings_in(columns) == (
        "attention", "gradient_x_input", "attention_x_gradient", "leave_one_out", "weight_gradient", "lime", "zeta",
    )  # fmt: skip


def test_no_ranking_has_the_name_of_something_else():
    assert not set(TAKEN) & {*RANKINGS, *METHODS, *BOUNDS}
