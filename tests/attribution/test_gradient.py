from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.attribution.gradient import (
    gradient_x_input,
    input_gradients,
    odds_at,
    smoothgrad,
    weight_gradient,
)
from heedful.attribution.items import sum_by_item
from heedful.data.batching import rows_of_batch
from heedful.models.encoders import ENCODERS
from heedful.models.trace import rerun, trace
from heedful.types import Batch, Encoded, LinearModel, Trace
from support.by_hand import Bag, batch_of
from support.evidence import seeded
from support.folders import each_source
from support.four_verbs import FourVerbs
from support.golden_models import NAMES, Golden, load_golden
from support.models import BATCH, LENGTHS, TIME, cases, cut, give_attention, make, make_batch


def signed_input_gradient(model, seen, classes):
    return input_gradients(model, seen, [(seen.attention, classes)])[0]


def input_gradient(model, seen):
    return signed_input_gradient(model, seen, seen.logits.argmax(-1)).abs()


class ByHand:
    """Two tokens of one number each, 2 and -6, with weights 3/4 and 1/4: the logit of class 1 is 0, p is 1/2."""

    def embed(self, batch):
        return torch.tensor([[[2.0], [-6.0]]])

    def encode(self, embedded, batch):
        return Encoded(embedded, batch.attendable_mask)

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


@pytest.mark.parametrize(("encoder", "classes"), [(name, (2, 5)[n % 2]) for n, name in enumerate(ENCODERS)])
def test_the_gradient_is_what_growing_an_items_embeddings_does(encoder, classes):
    """Against a central difference, with attention held fixed; all tokens of a sentence grow together."""
    model, batch = make(encoder, classes=classes), make_batch()
    seen = trace(model, batch)
    predicted = seen.logits.argmax(-1)
    word_ids = batch.sentence if encoder == "hierarchical" else torch.arange(TIME).expand(BATCH, TIME)
    actual = input_gradient(model, seen)
    for item in range(actual.shape[1]):
        grown = []
        for change in (1e-5, -1e-5):
            embedded = seen.embedded * (1 + change * ((word_ids == item) & batch.mask).double())[..., None]
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
    actual = input_gradient(model, trace(model, replace(batch, attendable_mask=inner)))
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


# Gradient x input by hand, by a central difference, and against captum.


def test_a_gradient_by_hand_gradient_x_input():
    """The logit is 3/4 x 2 + 1/4 x -6 = 0; each word's own part of it is its weight x its logit."""
    model = Bag(torch.tensor([2.0, -6.0]).double(), torch.tensor([0.75, 0.25]).double().log())
    seen = trace(model, batch_of(1, 2))
    towards_0 = torch.tensor([[-1.5, 1.5]]).double()  # of two equal ones the first class is predicted
    torch.testing.assert_close(gradient_x_input(model, seen), towards_0)


def odds_of(logits, classes):
    """ln(p / (1 - p)), as it is written."""
    p = logits.softmax(-1).gather(1, classes[:, None])[:, 0]
    return (p / (1 - p)).log()


@pytest.mark.parametrize(("encoder", "classes"), [(name, (5, 2)[n % 2]) for n, name in enumerate(ENCODERS)])
def test_it_is_what_growing_an_items_embeddings_does_to_the_odds(encoder, classes):
    """Attention changes too; all tokens of a sentence grow together."""
    model, batch = make(encoder, classes=classes), make_batch()
    seen = trace(model, batch)
    predicted = seen.logits.argmax(-1)
    word_ids = batch.sentence if encoder == "hierarchical" else torch.arange(TIME).expand(BATCH, TIME)
    actual = gradient_x_input(model, seen)
    for item in range(actual.shape[1]):
        growth = 1e-5 * ((word_ids == item) & batch.mask).double()[..., None] * seen.embedded
        up, down = (odds_of(rerun(model, seen, change).logits, predicted) for change in (growth, -growth))
        wanted = (up - down) / 2e-5 * seen.encoded.items[:, item]
        torch.testing.assert_close(actual[:, item], wanted, atol=1e-8, rtol=0)


def test_it_is_captums():
    from captum.attr import InputXGradient

    model, seen = make("bigru", "dot", classes=5), trace(make("bigru", "dot", classes=5), make_batch())
    texts = torch.arange(BATCH)
    method = InputXGradient(lambda embedded: odds_at(model, seen, embedded, texts))
    torch.testing.assert_close(
        gradient_x_input(model, seen), method.attribute(seen.embedded.detach().requires_grad_()).sum(-1).detach()
    )


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "hierarchical"])
def test_padding_and_neighbours_change_nothing(encoder):
    model, batch = make(encoder), make_batch()
    together = gradient_x_input(model, trace(model, batch))
    for row, length in enumerate(LENGTHS.tolist()):
        alone = gradient_x_input(model, trace(model, cut(batch, [row], length)))[0]
        torch.testing.assert_close(alone, together[row, : len(alone)], atol=1e-12, rtol=0)
        assert (together[row, len(alone) :] == 0).all()


def test_nothing_is_left_behind_and_no_graph_is_needed_around_it():
    model, batch = make("bilstm"), make_batch()
    with torch.no_grad():
        seen = trace(model, batch)
        actual = gradient_x_input(FourVerbs(model), seen)
    torch.testing.assert_close(actual, gradient_x_input(model, trace(model, batch)))
    assert not actual.requires_grad and not seen.embedded.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())


def test_rows_of_a_batch_may_repeat():
    batch = give_attention(make_batch(has_query=True), hierarchical=False)
    rows = rows_of_batch(batch, torch.tensor([1, 1, 0]))
    assert rows.index.tolist() == [1, 1, 0] and rows.query_tokens is not None and rows.imposed_attention is not None
    assert torch.equal(rows.tokens[0], batch.tokens[1]) and torch.equal(rows.tokens[2], batch.tokens[0])
    assert batch.query_tokens is not None and torch.equal(rows.query_tokens[1], batch.query_tokens[1])


def test_tokens_that_belong_to_no_item_count_for_nothing():
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    seen = trace(make("average"), replace(cut(make_batch(), [0, 1], TIME), attendable_mask=inner))
    assert torch.equal(sum_by_item(seen, torch.ones(2, TIME)), inner.float())


# SmoothGrad: no noise is the plain gradient; noise draws from the generator alone.


def test_without_noise_it_is_gradient_x_input():
    model = make("bilstm")
    seen = trace(model, make_batch())
    torch.testing.assert_close(smoothgrad(model, seen, seeded(), draws=3, share=0.0), gradient_x_input(model, seen))


def test_noise_changes_nothing_where_the_odds_are_linear_in_the_embeddings():
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3))
    torch.testing.assert_close(smoothgrad(model, seen, seeded(), share=3.0), gradient_x_input(model, seen))


def test_noise_changes_something_elsewhere_and_repeats_with_the_generator():
    model = make("bilstm", classes=5)
    seen, state = trace(model, make_batch()), torch.get_rng_state()
    first, again, other = (smoothgrad(model, seen, seeded(seed), draws=4) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.allclose(first, other)
    assert torch.equal(state, torch.get_rng_state())
    assert (first[~seen.encoded.items] == 0).all() and not first.requires_grad


def test_more_draws_come_closer_to_each_other():
    model = make("bilstm", classes=5)
    seen = trace(model, make_batch())
    gaps = []
    for draws in (2, 50):
        one_way, other_way = (smoothgrad(model, seen, seeded(seed), draws=draws, share=0.5) for seed in (1, 2))
        gaps.append((one_way - other_way).abs().mean().item())
    assert gaps[1] < gaps[0] / 2
