from dataclasses import replace

import torch

from heedful.battery.uniform_retrained import uniform_retrained
from support.evidence import evidence_of
from support.models import make


def test_the_retrained_model_is_right_or_wrong_text_by_text():
    seen = evidence_of(make()).trace
    logits = torch.tensor([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]]).double()
    values = uniform_retrained(seen, [replace(seen, logits=logits)]).values
    assert seen.batch.labels.tolist() == [0, 1, 1] and values["correct"].tolist() == [1, 1, 0]
