import numpy
import pytest
import torch
from scipy.optimize import linprog

from heedful.errors import SettingError
from heedful.models.hugging_face.same_mixture import least_of_head, least_weight
from heedful.models.trace import trace
from support.tiny_transformers import tiny_batch, tiny_model

LONG = "the unlikely film is goodish . bad plot , unlikely and not good . a film and a plot , not goodish"


@pytest.fixture(scope="module")
def long_text():
    model = tiny_model("bert")
    with torch.no_grad():
        return model, trace(model, tiny_batch(model, (LONG, "the film is good")))


@pytest.mark.parametrize("seed", range(5))
def test_a_programme_stated_otherwise_gives_the_same(seed):
    generator = numpy.random.default_rng(seed)
    own = generator.dirichlet(numpy.ones(9))
    values, cost = generator.normal(size=(9, 4)), (numpy.arange(9) < 2).astype(float)
    least, freedom = least_of_head(own, values, cost)
    mixing = numpy.concatenate([values.T, numpy.ones((1, 9))])
    expected = linprog(cost, A_eq=mixing, b_eq=mixing @ own, bounds=(0, None), method="highs")
    assert freedom == 4 and (least >= 0).all()
    assert cost @ least == pytest.approx(expected.fun, abs=1e-7)
    numpy.testing.assert_allclose(mixing @ least, mixing @ own, atol=1e-13)


def test_too_few_tokens_leave_no_choice():
    generator = numpy.random.default_rng(0)
    own = generator.dirichlet(numpy.ones(5))
    least, freedom = least_of_head(own, generator.normal(size=(5, 8)), numpy.ones(5))
    assert freedom == 0 and least is own


def test_the_logits_are_the_very_same(long_text):
    model, seen = long_text
    tops = torch.nn.functional.one_hot(seen.attention.argmax(1), seen.attention.shape[1]).bool()
    least = least_weight(model, seen.encoded, tops)
    torch.testing.assert_close(least.own, seen.attention.amax(1))
    assert (least.weight <= least.own + 1e-12).all()
    (part,) = seen.encoded.parts
    for row, weights in enumerate(least.weights):
        state = part.state.select(torch.tensor([row]))
        contexts = ((each[None, :, None] @ state.values)[:, :, 0] for each in (weights, state.weights[0]))
        other, own = (model.one_row.logits_of(state, context) for context in contexts)
        torch.testing.assert_close(other, own, atol=1e-12, rtol=0)
    # Some 30 pieces in heads of 8 dimensions leave a choice; 4 leave none.
    longer = int(seen.encoded.items.sum(1).argmax())
    assert least.freedom[longer] > 10 and least.freedom[1 - longer] == 0
    assert least.weight[longer] < 0.9 * least.own[longer]
    assert least.weight[1 - longer] == pytest.approx(least.own[1 - longer].item())


def test_special_tokens_keep_their_weight(long_text):
    model, seen = long_text
    least = least_weight(model, seen.encoded, seen.encoded.items & (torch.arange(seen.attention.shape[1]) < 3))
    for row, weights in enumerate(least.weights):
        (part,) = seen.encoded.parts
        word_ids = part.reading.word_ids[row]
        torch.testing.assert_close(weights[:, word_ids < 0], part.state.weights[row][:, word_ids < 0])
        assert (weights >= 0).all()
        torch.testing.assert_close(weights.sum(-1), part.state.weights[row].sum(-1))


def test_it_needs_a_single_row():
    model = tiny_model("modernbert")
    with torch.no_grad():
        seen = trace(model, tiny_batch(model))
    with pytest.raises(SettingError, match="modernbert at site 'last', scope 'row'"):
        least_weight(model, seen.encoded, seen.encoded.items)
