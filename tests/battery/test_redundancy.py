from dataclasses import replace

import pytest
import torch

from heedful.battery import Evidence
from heedful.battery.redundancy import redundancy
from heedful.models.trace import trace
from heedful.types import Batch
from support.by_hand import Bag, batch_of, findings_in, findings_of
from support.models import VOCABULARY, make


def test_two_words_that_each_give_the_decision_are_redundant():
    # 4 x .4 + 3 x .4 - 1 x .2 = 2.6; without one of the first two the other still outweighs the third.
    values = findings_of("redundancy", [4, 3, -1], [0.4, 0.4, 0.2])
    assert values["redundant"] == 1 and values["single_deletion_flips"] == 0
    assert values["give_alone"] == pytest.approx(2 / 3)


class Together(Bag):
    """Words say more where there are others: each logit is 2 larger in a text of several words."""

    def encode(self, embedded, batch):
        encoded = super().encode(embedded, batch)
        return replace(encoded, hidden=encoded.hidden + 2.0 * (batch.mask.sum(1) > 1)[:, None, None])


def test_one_word_that_gives_the_decision_alone_is_not_enough():
    model = Together(torch.tensor([4.0, -1.0, -1.0]).double(), torch.zeros(3).double())
    values = findings_in("redundancy", Evidence(model, trace(model, batch_of(1, 3))))
    assert values["redundant"] == 0 and values["single_deletion_flips"] == 0
    assert values["give_alone"] == pytest.approx(1 / 3)


def test_single_precision_decides_nothing(monkeypatch):
    """All classes have nearly the same weights, and logits: every decision is a close one."""
    model, draw = make("bilstm", classes=3), torch.Generator().manual_seed(0)
    with torch.no_grad():
        weight = model.head.linear.weight
        weight.copy_(weight[0] + 1e-8 * torch.randn(weight.shape, generator=draw, dtype=torch.float64))
        model.head.linear.bias.zero_()
    mask = torch.arange(11) < torch.randint(2, 12, (60, 1), generator=draw)
    tokens = torch.randint(1, VOCABULARY, mask.shape, generator=draw) * mask
    with torch.no_grad():
        seen = trace(model, Batch(torch.arange(60), tokens, mask, mask, torch.zeros(60, dtype=torch.long)))
    assert Evidence(model, seen).quick_reader is not Evidence(model, seen).variant_reader

    def give_alone():
        return redundancy(Evidence(model, seen), torch.Generator()).values["give_alone"]

    values = give_alone()
    with monkeypatch.context() as patched:
        patched.setattr("heedful.attribution.mixed_precision.pays", lambda trace: False)
        wanted = give_alone()
    torch.testing.assert_close(values, wanted, atol=0, rtol=0, equal_nan=True)
    monkeypatch.setattr("heedful.battery.redundancy.CLOSE", -1.0)
    assert not torch.equal(give_alone().nan_to_num(0.0), wanted.nan_to_num(0.0))
