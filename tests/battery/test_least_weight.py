import torch

from heedful.battery import Context, Evidence
from heedful.battery.least_weight import TEST, same_mixture
from heedful.battery.question import QuestionResult
from heedful.models.hugging_face.same_mixture import least_weight
from heedful.models.trace import trace
from support.evidence import seeded
from support.models import make, make_batch
from support.tiny_transformers import tiny_model, tiny_trace


def findings(model, seen):
    with torch.no_grad():
        return same_mixture(Evidence(model, seen, Context()), seeded())


def test_it_is_the_least_weight_of_the_top_words():
    model, seen = tiny_model("bert"), tiny_trace("bert")
    values = findings(model, seen).values
    top = torch.zeros_like(seen.encoded.items).scatter(1, seen.attention.argmax(1, keepdim=True), True)
    least = least_weight(model, seen.encoded, top)
    torch.testing.assert_close(values["least_1"], least.weight)
    torch.testing.assert_close(values["weight_1"], seen.attention.amax(1))
    assert (values["least_1"] <= values["weight_1"] + 1e-9).all()
    assert values["least_3"].isnan().equal(seen.encoded.items.sum(1) <= 3)


def test_other_models_and_other_sites_have_nothing_to_say():
    model = make()
    with torch.no_grad():
        assert not findings(model, trace(model, make_batch())).values
    assert not findings(tiny_model("bert", site="rollout", scope="all-rows"), tiny_trace("bert")).values


def test_texts_without_freedom_are_said_so():
    (question,) = TEST.questions
    names = ("weight of the top word", "least weight of the top word", "weight of the top three")
    numbers = {**dict.fromkeys(names, 0.5), "least weight of the top three": 0.25}
    free = question.sentence(QuestionResult(0.5, 0.0, 1.0, {**numbers, "free dimensions": 3.0}))
    assert "50% of the weight instead of 50%" in free and "25% instead of 50%" in free
    assert "No other weights" in question.sentence(QuestionResult(1.0, 0.0, 1.0, {**numbers, "free dimensions": 0.0}))
