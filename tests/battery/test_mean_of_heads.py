import torch

from heedful.battery import Context, Evidence
from heedful.battery.mean_of_heads import mean_of_heads
from heedful.measures import total_variation_distance
from heedful.models.trace import trace
from support.evidence import seeded
from support.models import make, make_batch
from support.tiny_transformers import tiny_model, tiny_trace


def test_the_mean_in_every_head_is_what_imposing_it_gives():
    model, seen = tiny_model("bert"), tiny_trace("bert")
    with torch.no_grad():
        values = mean_of_heads(Evidence(model, seen, Context()), seeded()).values
        imposed = model.imposing(seen.encoded, seen.attention)
        logits = model.decode(imposed, seen.attention)
    torch.testing.assert_close(values["tvd"], total_variation_distance(logits.softmax(-1), seen.logits.softmax(-1)))
    assert values["flips"].tolist() == (logits.argmax(-1) != seen.logits.argmax(-1)).double().tolist()
    assert ((values["special_weight"] > 0) & (values["special_weight"] < 1)).all()
    assert values["tvd"].max() > 1e-4


def test_a_single_head_is_its_own_mean():
    model = make()
    with torch.no_grad():
        assert not mean_of_heads(Evidence(model, trace(model, make_batch()), Context()), seeded()).values
