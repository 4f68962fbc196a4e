"""What a model makes of a batch, checked step by step and read twice."""

from dataclasses import replace

import pytest
import torch

from heedful.auditing.checked_trace import checked_trace, validate_gradient, validate_trace, validate_unchanged
from heedful.errors import HeedfulError, SettingError
from heedful.models.trace import trace
from support.custom_models import BagOfWords, texts
from support.models import make, make_batch


@pytest.fixture
def model():
    return BagOfWords().double().eval()


@torch.no_grad()
def test_a_sound_model_is_read_as_by_a_plain_trace(model):
    seen, plain = checked_trace(model, texts()), trace(model, texts())
    assert torch.equal(seen.logits, plain.logits) and torch.equal(seen.attention, plain.attention)


@pytest.mark.parametrize("encoder", ["average", "bilstm", "hierarchical"])
@torch.no_grad()
def test_our_own_models_pass(encoder):
    assert validate_trace(checked_trace(make(encoder), make_batch())).logits.shape == (3, 2)


@torch.no_grad()
def test_attention_that_is_off_is_shown_with_its_digits(model):
    seen = trace(model, texts())
    with pytest.raises(HeedfulError, match=r"sums to 1\.0002 over its 3 items .*Was it rounded"):
        validate_trace(replace(seen, attention=seen.attention * 1.0002))
    spilt = seen.attention.clone()
    spilt[0, -1] = 0.25
    with pytest.raises(HeedfulError, match=r"sums to 1 over .*mask padding before the softmax"):
        validate_trace(replace(seen, attention=spilt))
    assert validate_trace(replace(seen, attention=seen.attention * 1.00005)) is not None


@torch.no_grad()
def test_rounding_is_no_change(model):
    seen = trace(model, texts())
    validate_unchanged(model, replace(seen, logits=seen.logits + 1e-12))
    with pytest.raises(SettingError, match=r"the logits of a text differs by 1e-06"):
        validate_unchanged(model, replace(seen, logits=seen.logits + 1e-6))


def test_the_gradient_comes_through_and_leaves_nothing_behind(model):
    with torch.no_grad():
        seen = trace(model, texts())
    validate_gradient(model, seen)
    assert all(parameter.grad is None for parameter in model.parameters())
