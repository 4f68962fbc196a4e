"""A model is believed to be linear after attention only where its logits say so."""

import warnings
from dataclasses import replace

import pytest
import torch

from heedful.models.linearity import linear_if_so
from heedful.models.trace import trace
from heedful.types import LinearModel
from support.four_verbs import Relu
from support.models import make, make_batch


def seen_by(model):
    with torch.no_grad():
        return trace(model, make_batch())


@pytest.mark.parametrize("encoder", ["average", "bilstm", "hierarchical"])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_linear_model_is_believed(encoder, classes):
    model = make(encoder, classes=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert linear_if_so(model, seen_by(model)) is model


def test_a_model_that_claims_nothing_is_left_alone():
    model = make(head="tanh")
    assert linear_if_so(model, seen_by(model)) is model


def test_a_model_that_is_not_linear_is_not_believed():
    model = Relu(make("bilstm"))
    assert isinstance(model, LinearModel)
    seen = seen_by(model)
    with pytest.warns(UserWarning, match="is not linear. Its answers are searched for"):
        view = linear_if_so(model, seen)
    assert not isinstance(view, LinearModel)
    with torch.no_grad():
        again = trace(view, seen.batch)
    assert torch.equal(again.logits, seen.logits) and torch.equal(again.attention, seen.attention)


def test_a_bend_that_only_one_hot_weights_reach_is_seen():
    model = make("average")
    decode = model.decode

    def bent(encoded, attention):
        return decode(encoded, attention) + (attention.amax(1, keepdim=True) > 0.999)

    model.decode = bent
    seen = trace(make("average"), make_batch())
    seen = replace(seen, attention=seen.attention.detach())
    with pytest.warns(UserWarning, match="off by 1"):
        assert linear_if_so(model, seen) is not model
