"""What every attribution method must do, over the whole dict."""

import pytest
import torch

from heedful.attribution.methods import ATTRIBUTIONS
from heedful.models.trace import trace
from heedful.verdict.ranking_names import METHODS, OF_TRANSFORMERS
from support.models import BATCH, make, make_batch


def scores(name, encoder="bilstm", attention="additive", classes=2):
    model = make(encoder, attention, classes)
    with torch.no_grad():
        seen = trace(model, make_batch())
        return ATTRIBUTIONS[name](model, seen, torch.Generator().manual_seed(0)), seen, model


@pytest.mark.parametrize("name", [name for name in ATTRIBUTIONS if name not in OF_TRANSFORMERS])
@pytest.mark.parametrize(("encoder", "attention", "classes"), [("cnn", "dot", 5), ("hierarchical", "additive", 2)])
def test_scores_are_one_finite_number_an_item_and_repeat(name, encoder, attention, classes):
    (once, seen, model), (again, *_) = (
        scores(name, encoder, attention, classes),
        scores(name, encoder, attention, classes),
    )
    assert once.shape == seen.encoded.items.shape and once.isfinite().all() and not once.requires_grad
    assert torch.equal(once, again) and (once[~seen.encoded.items] == 0).all() and len(once) == BATCH
    assert all(parameter.grad is None for parameter in model.parameters())


def test_every_method_has_a_name_in_words():
    assert set(ATTRIBUTIONS) <= set(METHODS)
