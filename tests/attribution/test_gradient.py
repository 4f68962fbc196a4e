from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.attribution import input_gradient, signed_input_gradient, weight_gradient
from heedful.models.encoders import ENCODERS
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, LinearModel, Trace
from support.folders import each_source
from support.four_verbs import FourVerbs
from support.golden_models import NAMES, Golden, load_golden
from support.models import BATCH, LENGTHS, TIME, cases, cut, give_attention, make, make_batch


class ByHand:
    """Two tokens of one number each, 2 and -6, with weights 3/4 and 1/4: the logit of class 1 is 0, p is 1/2."""

    def embed(self, batch):
        return torch.tensor([[[2.0], [-6.0]]])

    def encode(self, embedded, batch):
        return Encoded(embedded, batch.attendable)

    def attend(self, encoded, batch):
        return encoded.hidden[..., 0].detach() * 0, torch.tensor([[0.75, 0.25]])

    def decode(self, encoded, attention):
        return torch.cat([torch.zeros(1, 1), attention @ encoded.hidden[0]], 1)


def seen_by_hand() -> Trace:
    both = torch.ones(1, 2, dtype=torch.bool)
    return trace(ByHand(), Batch(torch.tensor([0]), torch.tensor([[4, 5]]), both, both, torch.tensor([1])))


def test_a_gradient_by_hand():
    """The slope of the sigmoid at 0 is 1/4; each token moves the logit by 1.5."""
    seen = seen_by_hand()
    torch.testing.assert_close(
        signed_input_gradient(ByHand(), seen, torch.tensor([1])), torch.tensor([[0.375, -0.375]])
    )
    torch.testing.assert_close(
        signed_input_gradient(ByHand(), seen, torch.tensor([0])), torch.tensor([[-0.375, 0.375]])
    )
    torch.testing.assert_close(input_gradient(ByHand(), seen), torch.tensor([[0.375, 0.375]]))


def test_a_gradient_under_imposed_weights_by_hand():
    """With 1/4 and 3/4 the logit is -4: the model now says class 0, and the tokens move the logit by 1/2 and 9/2."""
    slope = torch.tensor(4.0).sigmoid() * torch.tensor(-4.0).sigmoid()
    seen, imposed = seen_by_hand(), torch.tensor([[0.25, 0.75]])
    under = replace(seen, attention=imposed, logits=ByHand().decode(seen.encoded, imposed))
    torch.testing.assert_close(input_gradient(ByHand(), under), slope * torch.tensor([[0.5, 4.5]]))
    torch.testing.assert_close(
        signed_input_gradient(ByHand(), under, torch.tensor([1])), slope * torch.tensor([[0.5, -4.5]])
    )


def test_a_weight_gradient_by_hand():
    """Class 0 is predicted (the first of two equal ones): the weights move its logit's difference by -2 and 6."""
    torch.testing.assert_close(weight_gradient(ByHand(), seen_by_hand()), torch.tensor([[-0.5, 1.5]]))


def assert_same_as_reference(golden: Golden) -> None:
    with torch.no_grad():
        seen = trace(golden.model, golden.batch)
    ours = signed_input_gradient(golden.model, seen, torch.ones_like(golden.batch.labels))
    items = seen.encoded.items
    wanted = golden.results["grad_raw_XxE[X]_f64"]
    np.testing.assert_allclose(ours[items], wanted[items.numpy()], atol=1e-8, rtol=0)
    torch.testing.assert_close(input_gradient(golden.model, seen), ours.abs())
    assert (ours[~items] == 0).all()


@each_source
@pytest.mark.parametrize("name", NAMES)
def test_the_authors_weights_give_the_authors_gradients(name, source):
    assert_same_as_reference(load_golden(name, source))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("classes", [2, 5])
def test_the_gradient_is_what_growing_an_items_embeddings_does(encoder, classes):
    """Against a central difference, with attention held fixed; all tokens of a sentence grow together."""
    model, batch = make(encoder, classes=classes), make_batch()
    seen = trace(model, batch)
    predicted = seen.logits.argmax(-1)
    owner = batch.sentence if encoder == "hierarchical" else torch.arange(TIME).expand(BATCH, TIME)
    actual = input_gradient(model, seen)
    for item in range(actual.shape[1]):
        grown = []
        for change in (1e-5, -1e-5):
            embedded = seen.embedded * (1 + change * ((owner == item) & batch.mask).double())[..., None]
            logits = model.decode(model.encode(embedded, batch), seen.attention)
            grown.append(logits.softmax(-1).gather(1, predicted[:, None])[:, 0])
        wanted = ((grown[0] - grown[1]) / 2e-5).abs() * seen.encoded.items[:, item]
        torch.testing.assert_close(actual[:, item], wanted, atol=1e-8, rtol=0)


@pytest.mark.parametrize(("encoder", "attention", "classes", "has_query"), cases())
def test_the_closed_form_is_the_derivative_of_decode(encoder, attention, classes, has_query):
    model = make(encoder, attention, classes, has_query)
    seen = trace(model, give_attention(make_batch(has_query), encoder == "hierarchical"))
    assert isinstance(model, LinearModel) and not isinstance(FourVerbs(model), LinearModel)
    actual, differentiated = weight_gradient(model, seen), weight_gradient(FourVerbs(model), seen)
    torch.testing.assert_close(actual, differentiated, atol=1e-12, rtol=0)
    assert (actual[~seen.encoded.items] == 0).all() and (actual[seen.encoded.items] != 0).all()


def test_weight_gradients_of_a_tanh_head_are_what_a_small_change_does():
    model = make("bilstm", classes=5, has_query=True, head="tanh")
    seen = trace(model, make_batch(has_query=True))
    predicted, actual = seen.logits.argmax(-1, keepdim=True), weight_gradient(model, seen)
    for item in range(TIME):
        nudge = 1e-5 * torch.eye(TIME).double()[item]
        up, down = (
            model.decode(seen.encoded, seen.attention + change).softmax(-1).gather(1, predicted)[:, 0]
            for change in (nudge, -nudge)
        )
        wanted = (up - down) / 2e-5 * seen.encoded.items[:, item]
        torch.testing.assert_close(actual[:, item], wanted, atol=1e-8, rtol=0)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_batch_size_and_order_change_nothing(encoder):
    model, batch = make(encoder), make_batch()
    seen = trace(model, batch)
    for measure in (input_gradient, weight_gradient):
        together = measure(model, seen)
        turned = measure(model, trace(model, cut(batch, [2, 0, 1], TIME)))
        torch.testing.assert_close(turned, together[[2, 0, 1]], atol=1e-12, rtol=0)
        for row, length in enumerate(LENGTHS.tolist()):
            alone = measure(model, trace(model, cut(batch, [row], length)))[0]
            torch.testing.assert_close(alone, together[row, : len(alone)], atol=1e-12, rtol=0)
            assert (together[row, len(alone) :] == 0).all()


def test_start_and_end_symbols_have_no_importance():
    model, batch = make("bilstm"), cut(make_batch(), [0, 1], TIME)
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    actual = input_gradient(model, trace(model, replace(batch, attendable=inner)))
    assert ((actual != 0) == inner).all()


def test_nothing_is_left_behind():
    """Neither gradients nor flags, of the model or of the trace; with or without a graph around."""
    model, batch = make("bilstm"), make_batch()
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    model.embedding.weight.requires_grad_(False)
    flags = [parameter.requires_grad for parameter in model.parameters()]
    with_graph = trace(model, batch)
    with torch.no_grad():
        seen = trace(model, batch)
        without = input_gradient(model, seen), weight_gradient(FourVerbs(model), seen)
    actual = input_gradient(model, with_graph), weight_gradient(FourVerbs(model), with_graph)
    for gradient, expected in zip(actual, without, strict=True):
        torch.testing.assert_close(gradient, expected)
        assert not gradient.requires_grad and not expected.requires_grad
    assert all((parameter.grad == 3).all() for parameter in model.parameters())
    assert [parameter.requires_grad for parameter in model.parameters()] == flags
    assert not seen.embedded.requires_grad and not seen.attention.requires_grad
    with_graph.logits.sum().backward()  # the graph of the trace can still be used


def test_any_object_with_the_four_verbs_will_do():
    model, batch = make("gru"), make_batch()
    seen = trace(model, batch)
    torch.testing.assert_close(input_gradient(FourVerbs(model), seen), input_gradient(model, seen))


@pytest.mark.parametrize("classes", [2, 5])
def test_a_sure_prediction_keeps_its_ranking(classes):
    """The probability is 1 in float32, where the textbook p (1 - p) is 0 for every item."""
    model, batch = make("bilstm", classes=classes).float(), make_batch()
    with torch.no_grad():
        weight, bias = (model.get_parameter(f"head.linear.{name}") for name in ("weight", "bias"))
        weight.mul_(200)
        bias.copy_(torch.linspace(20, 200, len(bias)))
    seen = trace(model, batch)
    sure = (seen.logits.softmax(-1).amax(-1) == 1) & (LENGTHS > 1)
    assert sure.any()
    exact = trace(model.double(), batch)
    wanted = [measure(model, exact) for measure in (input_gradient, weight_gradient)]
    model.float()
    for measure, want in zip((input_gradient, weight_gradient), wanted, strict=True):
        actual = measure(model, seen)
        torch.testing.assert_close(actual[sure].double(), want[sure], atol=0, rtol=1e-2)
        assert (actual[sure][seen.encoded.items[sure]] != 0).all()
