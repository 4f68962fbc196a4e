import torch

from heedful.battery import Evidence
from heedful.battery.stability_measures import moves
from heedful.measures import js_divergence
from heedful.models.trace import trace
from support.models import make, make_batch


def test_the_four_measures_by_hand():
    model, batch = make(), make_batch()
    with torch.no_grad():
        seen = trace(model, batch)
        other = trace(make("rnn"), batch)
        values = moves(Evidence(model, seen), other)
    p, q = (each.logits.softmax(-1) for each in (seen, other))
    torch.testing.assert_close(values["tvd"], (p - q).abs().sum(-1) / 2)
    torch.testing.assert_close(values["drop"].abs(), values["tvd"])  # two classes
    assert torch.equal(values["drop"] > 0, q.gather(1, p.argmax(-1, keepdim=True))[:, 0] < p.amax(-1))
    assert values["flips"].tolist() == (p.argmax(-1) != q.argmax(-1)).double().tolist()
    torch.testing.assert_close(values["js"], js_divergence(other.attention, seen.attention, seen.encoded.items))
