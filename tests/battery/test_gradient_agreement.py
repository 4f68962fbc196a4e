import pytest

from support.by_hand import findings_of


def test_gradient_agreement_is_one_where_attention_times_token_is_in_attentions_order():
    assert findings_of("gradient_agreement", [1, 1, 1], [0.5, 0.3, 0.2])["tau"] == pytest.approx(1.0)
    assert findings_of("gradient_agreement", [1, 3, 9], [0.5, 0.3, 0.2])["tau"] == pytest.approx(-1.0)
