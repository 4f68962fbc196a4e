"""Rollout and value norm as rankings of a Hugging Face model whose shown attention is another."""

from copy import deepcopy

import pytest
import torch

import heedful
from heedful.attribution.methods import ATTRIBUTIONS
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.models.transformers import read_texts
from support.classifiers import LABELS, make_dataset, two_classes, written
from support.models import make, make_batch


@pytest.fixture(scope="module")
def model():
    return two_classes()


@pytest.fixture(scope="module")
def batch(model):
    texts, labels = zip(*written(6), strict=True)
    (batch,) = read_texts(model.classifier, texts, [LABELS.index(label) for label in labels]).batches()
    return batch


@pytest.mark.parametrize(("name", "site"), [("rollout", "rollout"), ("value_norm", "value-norm")])
@pytest.mark.parametrize("shown", ["last", "head:0.1"])
def test_it_is_what_that_site_shows(model, batch, name, site, shown):
    seen, other = trace(model.at(shown), batch), trace(model.at(site), batch)
    scores = ATTRIBUTIONS[name](model.at(shown), seen, torch.Generator())
    assert torch.equal(scores, other.attention) and not torch.equal(scores, seen.attention)
    assert torch.allclose(scores.sum(-1), torch.ones(len(scores), dtype=torch.float64))


def test_rollout_is_the_product_of_the_layers(model, batch):
    module, length = deepcopy(model.classifier.network.module), int(batch.mask[0].sum())
    tokens = batch.tokens[:1, :length]
    module.set_attn_implementation("eager")
    with torch.no_grad():
        layers = module(tokens, output_attentions=True).attentions
    product = torch.eye(length, dtype=torch.float64)
    for layer in layers:
        product = (layer[0].mean(0).double() + torch.eye(length)) / 2 @ product
    owner = batch.sentence[0, :length]
    words = torch.stack([product[0, owner == word].sum() for word in range(int(owner.max()) + 1)])
    scores = ATTRIBUTIONS["rollout"](model, trace(model, batch), torch.Generator())[0]
    assert torch.allclose(scores[: len(words)], words / words.sum(), atol=1e-6)


@pytest.mark.parametrize("name", ["rollout", "value_norm"])
def test_other_models_have_none(name):
    own = make("bilstm", "additive", 2)
    with pytest.raises(
        SettingError, match=f"ranking '{name}' is for Hugging Face models; this model is of class Linear"
    ):
        ATTRIBUTIONS[name](own, trace(own, make_batch()), torch.Generator())


def test_an_audit_ranks_by_it(model):
    settings = heedful.AuditSettings(tests=("erase_until_flip",), rankings=("rollout", "value_norm"))
    audit = heedful.audit(model, make_dataset(train=2, dev=2, test=6), settings=settings)
    assert {"rollout", "value_norm", "attention"} <= {ranking.name for ranking in audit.verdict.rankings}
