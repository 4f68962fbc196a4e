from math import log

import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of, findings_in, findings_of


def test_sharpness_and_evenness_by_hand():
    values = findings_of("shape", [4, 3, -1, 0], [0.5, 0.25, 0.25, 0.0])
    assert values["sharpness"] == pytest.approx(2.0)
    assert values["evenness"] == pytest.approx((0.5 * log(2) + 0.5 * log(4)) / log(4))


def test_the_weight_on_punctuation_is_that_of_words_without_letter_or_digit():
    model = Bag(torch.tensor([4.0, 3.0, -1.0]).double(), torch.tensor([0.5, 0.3, 0.2]).double().log())
    context = Context(vocabulary=("good", "...", "7-up", "!"))
    batch = batch_of(1, 3)
    values = findings_in("shape", Evidence(model, trace(model, batch), context))
    marks = {1, 3}
    expected = sum(
        weight for token, weight in zip(batch.tokens[0].tolist(), [0.5, 0.3, 0.2], strict=True) if token in marks
    )
    assert values["punctuation"] == pytest.approx(expected) and 0 < expected < 1
