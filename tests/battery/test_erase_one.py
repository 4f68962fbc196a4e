import pytest

from support.by_hand import findings_of


def test_erasing_the_top_item_flips_and_the_other_does_not():
    values = findings_of("erase_one", [4, -4], [0.75, 0.25])
    assert values["flips_attention"] == 1 and values["other_flips_attention"] == 0
    assert values["some_item_flips"] == 1
    assert values["delta_attention_attention"] == pytest.approx(0.5)
    assert values["delta_js_attention"] == pytest.approx(values["mean_delta_js_attention"])  # one other item only
    assert values["delta_js_attention"] > 0
