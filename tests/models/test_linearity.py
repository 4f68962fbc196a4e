"""A model is believed to be linear after attention only where its logits say so."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.models.linearity import logit_tolerance, validate_linearity
from heedful.models.trace import trace
from heedful.types import LinearModel
from support.four_verbs import Relu
from support.heads import BENDS, STRAIGHT, Head, heads, largest_error, seen_by
from support.models import make, make_batch


def traced(model):
    with torch.no_grad():
        return trace(model, make_batch())


def is_believed(head: Head) -> bool:
    try:
        return validate_linearity(head, seen_by(head)) is head
    except HeedfulError:
        return False


def by_hand(bend="straight", **changes) -> Head:
    """Two texts of three and two items; the logits of class 1 are 1, 2, -1 and 0, 3; those of class 0 are 0."""
    hidden = torch.tensor([[1.0, 2.0, -1.0], [0.0, 3.0, 0.0]], dtype=torch.float64)[..., None]
    items = torch.tensor([[True, True, True], [True, True, False]])
    weight, bias = torch.tensor([[0.0, 1.0]]).double(), torch.zeros(2).double()
    return replace(Head(hidden, items, weight, bias, {**BENDS, **STRAIGHT}[bend]), **changes)


@pytest.mark.slow
@settings(max_examples=300)
@given(heads(BENDS | STRAIGHT))
def test_no_head_that_is_off_passes_and_no_linear_head_is_refused(head):
    believed = is_believed(head)
    assert not (believed and largest_error(head) > 1e-3)
    assert believed or head.bend not in STRAIGHT.values()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(data=st.data())
def test_linear_heads_are_believed_in_either_precision(data, dtype):
    head = data.draw(heads(STRAIGHT))
    numbers = {name: getattr(head, name).to(dtype) for name in ("hidden", "weight", "bias")}
    assert is_believed(replace(head, **numbers))


def test_each_way_of_not_being_linear_is_seen():
    for is_fitted in [False, True]:
        for bend in BENDS:
            generator = torch.Generator().manual_seed(0)
            hidden = torch.randn(3, 13, 4, generator=generator, dtype=torch.float64)
            items = torch.arange(13) < torch.tensor([[13], [9], [4]])
            weight = torch.randn(4, 3, generator=generator, dtype=torch.float64)
            head = Head(hidden, items, weight, weight[1], BENDS[bend], 0.5, is_fitted, (0, 7, 11))
            if is_fitted and bend in ("one item", "temperature", "another bias"):
                # The item logits know of it, and it is linear.
                assert is_believed(head)
            else:
                assert not is_believed(head)


def test_both_numbers_are_named_and_what_to_do():
    # The second item of the second text: 3 by its item logits, and 1 more when decoded.
    head = by_hand("one item", place=(1, 1, 0))
    with pytest.raises(HeedfulError) as caught:
        validate_linearity(head, seen_by(head))
    assert "for class 1 of text 1, under attention[1] = 1, `decode` gives 4 and the sum" in str(caught.value)
    assert "is 3; they may differ by 3e-06" in str(caught.value)
    assert "Correct `item_logits`; or, if what comes after attention is not linear, remove it" in str(caught.value)


def test_a_number_that_is_none_is_a_mismatch():
    head = by_hand("one item undefined", place=(0, 2, 0))
    with pytest.raises(HeedfulError, match=r"text 0, under attention\[2\] = 1, `decode` gives (nan|inf)"):
        validate_linearity(head, seen_by(head))
    endless = by_hand(weight=torch.tensor([[0.0, torch.inf]]).double())
    with pytest.raises(HeedfulError, match="does not fit"):
        validate_linearity(endless, seen_by(by_hand()))


def test_a_model_with_a_relu_is_refused():
    model = Relu(make("bilstm"))
    assert isinstance(model, LinearModel)
    with pytest.raises(HeedfulError, match="`item_logits` does not fit `decode`: for class [01] of text"):
        validate_linearity(model, traced(model))


def test_attention_that_sums_to_nearly_one_is_no_reason_to_refuse():
    head = by_hand(bias=torch.tensor([5.0, 0.0]).double())
    seen = seen_by(head)
    assert validate_linearity(head, replace(seen, attention=0.99995 * seen.attention)) is head


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 3e-6), (torch.float32, 3e-4)])
def test_the_tolerance_is_relative_to_the_largest_logit_of_an_item(dtype, tolerance):
    head = by_hand()
    head = replace(head, **{name: getattr(head, name).to(dtype) for name in ("hidden", "weight", "bias")})
    seen = seen_by(head)
    assert logit_tolerance(head.item_logits(seen.encoded), seen) == pytest.approx(tolerance)
    beside = torch.where(head.items[..., None], head.item_logits(seen.encoded), torch.nan)
    assert logit_tolerance(beside, seen) == pytest.approx(tolerance)


@pytest.mark.parametrize(("off", "believed"), [(0.0, True), (1e-16, True), (1e-6, False)])
def test_logits_that_are_all_zero_may_be_off_by_rounding(off, believed):
    head = by_hand("another bias", strength=1.0, bias=torch.full((2,), off).double())
    head = replace(head, hidden=torch.zeros_like(head.hidden))
    assert is_believed(head) == believed


class OwnEmpty(Head):
    """Says by itself what it predicts without any weight."""

    def empty_logits(self, encoded):
        return torch.tensor([[0.0, 0.25]]).double().expand(len(self.items), -1)


class Refusing(OwnEmpty):
    """Takes no weights but those that sum to 1."""

    def decode(self, encoded, attention):
        if not attention.sum(-1).allclose(torch.ones_like(attention.sum(-1))):
            raise KeyError("weights must sum to 1")
        return super().decode(encoded, attention)


def own_empty(kind, bend="straight"):
    return kind(**vars(by_hand(bend)))


def test_what_is_predicted_without_weight_must_be_what_decode_says():
    head = own_empty(OwnEmpty)
    with pytest.raises(HeedfulError) as caught:
        validate_linearity(head, seen_by(head))
    assert "for class 1 of text 0, `decode` gives 0 where all weights are 0 and `empty_logits` gives 0.25" in str(
        caught.value
    )
    assert "Correct `empty_logits`, or remove it and `item_logits`" in str(caught.value)


@pytest.mark.parametrize(("kind", "bend"), [(Refusing, "straight"), (OwnEmpty, "renormalised")])
def test_a_head_that_cannot_decode_no_weight_is_not_asked(kind, bend):
    head = own_empty(kind, bend)
    assert validate_linearity(head, seen_by(head)) is head


@pytest.mark.parametrize(
    ("verb", "cut", "message"),
    [
        ("item_logits", lambda z: z[..., :1], r"\[batch, item, classes\], on this batch \(2, 3, 2\).* \(2, 3, 1\)"),
        ("item_logits", lambda z: z[..., 0], r"\(2, 3, 2\).*returned \(2, 3\)"),
        ("empty_logits", lambda z: z[:, :1], r"\[batch, classes\], on this batch \(2, 2\).*returned \(2, 1\)"),
        ("empty_logits", lambda z: z[:, 0], r"returned \(2,\)\. For a single \(sigmoid\) logit z"),
    ],
)
def test_logits_of_another_shape_are_refused_with_what_to_return(verb, cut, message):
    head = by_hand()
    whole = getattr(head, verb)
    object.__setattr__(head, verb, lambda encoded: cut(whole(encoded)))
    with pytest.raises(HeedfulError, match=f"`{verb}` must return .*{message}"):
        validate_linearity(head, seen_by(head))
