"""Gradient x input by hand, by a central difference, and against captum."""

from dataclasses import replace

import pytest
import torch

from heedful.attribution.gradient_x_input import gradient_x_input, odds_at
from heedful.attribution.items import sum_by_item
from heedful.data.batching import rows_of_batch
from heedful.models.encoders import ENCODERS
from heedful.models.trace import reread, trace
from support.by_hand import Bag, batch_of
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, TIME, cut, give_attention, make, make_batch


def test_a_gradient_by_hand():
    """The logit is 3/4 x 2 + 1/4 x -6 = 0; each word's own part of it is its weight x its logit."""
    model = Bag(torch.tensor([2.0, -6.0]).double(), torch.tensor([0.75, 0.25]).double().log())
    seen = trace(model, batch_of(1, 2))
    towards_0 = torch.tensor([[-1.5, 1.5]]).double()  # of two equal ones the first class is predicted
    torch.testing.assert_close(gradient_x_input(model, seen), towards_0)


def odds_of(logits, classes):
    """ln(p / (1 - p)), as it is written."""
    p = logits.softmax(-1).gather(1, classes[:, None])[:, 0]
    return (p / (1 - p)).log()


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("classes", [2, 5])
def test_it_is_what_growing_an_items_embeddings_does_to_the_odds(encoder, classes):
    """Attention changes too; all tokens of a sentence grow together."""
    model, batch = make(encoder, classes=classes), make_batch()
    seen = trace(model, batch)
    predicted = seen.logits.argmax(-1)
    owner = batch.sentence if encoder == "hierarchical" else torch.arange(TIME).expand(BATCH, TIME)
    actual = gradient_x_input(model, seen)
    for item in range(actual.shape[1]):
        growth = 1e-5 * ((owner == item) & batch.mask).double()[..., None] * seen.embedded
        up, down = (odds_of(reread(model, seen, change).logits, predicted) for change in (growth, -growth))
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
    assert torch.equal(rows.query_tokens[1], batch.query_tokens[1])


def test_tokens_that_belong_to_no_item_count_for_nothing():
    inner = (torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1)
    seen = trace(make("average"), replace(cut(make_batch(), [0, 1], TIME), attendable=inner))
    assert torch.equal(sum_by_item(seen, torch.ones(2, TIME)), inner.float())
