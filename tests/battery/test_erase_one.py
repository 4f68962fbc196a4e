import pytest
import torch

from support.by_hand import findings_of


def test_erasing_the_top_item_flips_and_the_other_does_not():
    values = findings_of("erase_one", [4, -4], [0.75, 0.25])
    assert values["flips_attention"] == 1 and values["other_flips_attention"] == 0
    assert values["some_item_flips"] == 1
    assert values["delta_attention_attention"] == pytest.approx(0.5)
    assert values["delta_js_attention"] == pytest.approx(values["mean_delta_js_attention"])  # one other item only
    assert values["delta_js_attention"] > 0


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_where_one_word_has_all_the_weight_nothing_is_defined(weights):
    """Without it the model would answer to nothing, which says nothing of the text."""
    values = findings_of("erase_one", [4, -4, 1], weights, bias=-1.0)
    assert all(torch.tensor(value).isnan() for value in values.values())


def test_of_words_that_share_the_first_place_the_mean_counts():
    # 4 x .4 - 1 x .4 - 1 x .2 = 1: the top word is the first, which flips, or the second, which does not. The other
    # word is one of the remaining two: if the second is on top it flips in one case of two.
    values = findings_of("erase_one", [4, -1, -1], [0.4, 0.4, 0.2])
    assert values["flips_attention"] == pytest.approx(0.5) and values["other_flips_attention"] == pytest.approx(0.25)
