from dataclasses import replace

import pytest
import torch

from heedful.models.hugging_face.interventions import unchanged
from heedful.models.hugging_face.single_row_decoder import RowState, SingleRowDecoder
from support.tiny_transformers import tiny_model, tiny_trace

BATCH, HEADS, TIME, SIZE = 2, 3, 5, 4
OWNER = torch.tensor([[-1, 0, 0, 1, -1], [-1, 0, 1, -1, -1]])


@pytest.fixture
def state():
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(BATCH, HEADS, TIME, generator=generator, dtype=torch.float64)
    weights = weights.masked_fill(torch.tensor([[0] * 5, [0] * 4 + [1]]).bool()[:, None], 0.0)
    values = torch.randn(BATCH, HEADS, TIME, SIZE, generator=generator, dtype=torch.float64)
    return RowState(
        weights=weights / weights.sum(-1, keepdim=True),
        values=values,
        word_ids=OWNER,
        count=2,
        entering=torch.zeros(BATCH, 6, dtype=torch.float64),
        earlier=(),
        token=torch.tensor([2, 2]),
    )


def test_unchanged_words_and_special_tokens_mix_as_the_tokens_do(state):
    mixed = (state.weights[:, :, None] @ state.values)[:, :, 0]
    torch.testing.assert_close(state.context(unchanged(torch.ones(BATCH, 2, dtype=torch.bool))), mixed)


def test_a_word_without_weight_has_the_mean_value_of_its_pieces(state):
    weights = state.weights.clone()
    weights[0, :, 1:3] = 0.0
    values = replace(state, weights=weights).word_values
    torch.testing.assert_close(values[0, :, 0], state.values[0, :, 1:3].mean(1))
    torch.testing.assert_close(values[0, :, 1], state.values[0, :, 3])


def test_held_weights_are_constants_and_values_are_not(state):
    weights, values = state.weights.requires_grad_(), state.values.requires_grad_()
    change = unchanged(torch.ones(BATCH, 2, dtype=torch.bool))
    held = replace(state, weights=weights, values=values).held.context(change)
    slopes = torch.autograd.grad(held.sum(), (weights, values), allow_unused=True)
    assert slopes[0] is None and slopes[1].abs().sum() > 0


@pytest.mark.parametrize("name", ["bert", "gpt2", "bart", "deberta", "xlnet", "albert"])
def test_only_the_last_block_and_what_follows_is_kept(name):
    classifier = tiny_model(name).classifier
    assert isinstance(classifier.one_row, SingleRowDecoder)
    whole, tail = (
        sum(parameter.numel() for parameter in module.parameters())
        for module in (classifier.network.module, classifier.one_row.network.module)
    )
    assert tail < whole
    assert classifier.one_row.network.module.config.num_labels == 3


def test_a_coarse_model_is_followed_by_a_fine_decoder():
    model, seen = tiny_model("bert", torch.float32), tiny_trace("bert", torch.float32)
    assert model.classifier.network.dtype == torch.float32 and model.one_row.dtype == torch.float64
    assert seen.logits.dtype == seen.attention.dtype == seen.embedded.dtype == torch.float64
    torch.testing.assert_close(seen.logits, tiny_trace("bert").logits, rtol=0, atol=1e-5)
