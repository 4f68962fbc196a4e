from dataclasses import replace

import pytest
import torch

from heedful.battery import Evidence
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of, findings_in, findings_of


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


def test_where_one_word_has_all_the_weight_it_is_undefined():
    values = findings_of("redundancy", [4, 3, -1], [1.0, 0.0, 0.0])
    assert all(torch.tensor(value).isnan() for value in values.values())
