import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.models.hugging_face.classifier import load_inspected
from heedful.models.hugging_face.interventions import (
    Intervention,
    InterventionHook,
    InterventionSites,
    changed_tokens,
    unchanged,
)
from heedful.models.hugging_face.network import Inputs
from support.tiny_transformers import tiny_model, tiny_module, tiny_trace, tokenizer_of

BATCH, HEADS, ROWS, WORDS = 2, 3, 5, 4
OWNER = torch.tensor([[-1, 0, 1, 1, 2, 3, -1], [-1, 0, 0, 1, -1, -1, -1]])


def drawn(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def words():
    weights = drawn(BATCH, HEADS, ROWS, WORDS)
    weights[:, :, 2, 3] = 0.0  # what the third row cannot see
    return weights


@given(st.integers(0, 10**6), st.sampled_from(["factor", "permutation", "imposed"]))
def test_a_rows_words_keep_what_they_have_together(seed, kind):
    weights = drawn(BATCH, HEADS, ROWS, WORDS, seed=seed)
    weights = weights.where(weights > 0.2, 0.0)
    factor = drawn(BATCH, WORDS, seed=seed + 1)
    more = {
        "factor": {},
        "permutation": {"permutation": drawn(BATCH, WORDS, seed=seed + 2).argsort(1)},
        "imposed": {"imposed": drawn(BATCH, WORDS, seed=seed + 2)},
    }[kind]
    changed, is_left = Intervention(factor, **more).apply(weights)
    torch.testing.assert_close(changed.sum(-1, keepdim=True), weights.sum(-1, keepdim=True).where(is_left, 0.0))
    assert not changed[weights == 0].any()


def test_only_the_chosen_heads_are_changed(words):
    even = torch.full((BATCH, WORDS), 1 / WORDS, dtype=torch.float64)
    heads = torch.tensor([[True, False, False], [False, False, True]])
    changed, _ = Intervention(torch.ones_like(even), imposed=even, heads=heads).apply(words)
    assert torch.equal(changed[0, 1:], words[0, 1:]) and torch.equal(changed[1, :2], words[1, :2])
    torch.testing.assert_close(changed[0, 0, 0], words[0, 0, 0].mean().expand(WORDS))


def test_moving_to_an_attention_multiplies_and_adds_where_there_is_nothing_to_multiply(words):
    shown = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]], dtype=torch.float64)
    other = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    change = unchanged(shown > -1).moved_to(other, shown)
    # A word that is shown no weight and given none is left as it is; a blind text loses all.
    assert change.factor.tolist() == [[0.5, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    assert change.added.tolist() == [[0.0, 0.0, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0]]
    changed, is_left = change.apply(words)
    assert is_left[0].all() and not is_left[1].any() and not changed[1].any()


def test_a_weights_derivative_is_that_of_a_free_variable(words):
    factor = torch.ones(BATCH, WORDS, dtype=torch.float64, requires_grad=True)
    changed, _ = Intervention(factor).apply(words)
    (slope,) = torch.autograd.grad(changed[0, 1, 0, 2], factor)
    expected = torch.zeros(BATCH, WORDS, dtype=torch.float64)
    expected[0, 2] = words[0, 1, 0, 2]
    torch.testing.assert_close(slope, expected)


def test_pieces_keep_their_shares_and_special_tokens_their_weight():
    weights = drawn(2, 3, 1, 7)
    weights = weights / weights.sum(-1, keepdim=True)
    factor = torch.tensor([[1.0, 3.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    changed = changed_tokens(weights, OWNER, Intervention(factor))
    torch.testing.assert_close(changed.sum(-1), weights.sum(-1))
    torch.testing.assert_close(changed[0, ..., [0, 6]], weights[0, ..., [0, 6]])
    torch.testing.assert_close(changed[0, ..., 2] / changed[0, ..., 3], weights[0, ..., 2] / weights[0, ..., 3])
    ratio = (changed / weights)[0, :, 0]
    torch.testing.assert_close(ratio[:, 2] / ratio[:, 1], torch.full((3,), 3.0, dtype=torch.float64))
    assert not changed[0, ..., 4].any() and not changed[1, ..., 3].any()


def test_what_no_special_token_can_take_is_lost():
    """A decoder without a start symbol, blind to its words, mixes nothing."""
    weights, word_ids = torch.tensor([[[[0.5, 0.5]]]]), torch.tensor([[0, 1]])
    assert not changed_tokens(weights, word_ids, Intervention(torch.zeros(1, 2))).any()


def test_only_the_places_are_changed():
    weights = drawn(2, 3, 7, 7)
    half = Intervention(torch.tensor([[0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]], dtype=torch.float64))
    places = InterventionSites(frozenset({1}), torch.tensor([0, 4]))
    listener = InterventionHook(half, places, OWNER, torch.float64)
    assert listener.weights(0, weights) is weights
    changed = listener.weights(1, weights)
    is_same = (changed == weights).all(-1).all(1)
    assert is_same.tolist() == [[False] + [True] * 6, [True] * 4 + [False] + [True] * 2]
    everywhere = InterventionHook(half, InterventionSites(frozenset({1}), None), OWNER, torch.float64).weights(
        1, weights
    )
    torch.testing.assert_close(everywhere[0, :, 0], changed[0, :, 0])
    assert not everywhere[0, ..., 1].any()


def test_weights_are_constants_only_where_they_are_held():
    weights = drawn(2, 3, 7, 7).requires_grad_()
    places, change = InterventionSites(frozenset({0}), None), Intervention(torch.ones(2, 4, dtype=torch.float64))
    assert not InterventionHook(change, places, OWNER, torch.float64).weights(0, weights).requires_grad
    assert InterventionHook(change, places, OWNER, torch.float64, is_held=False).weights(0, weights).requires_grad


def attentions_of(name, batch, row):
    """What transformers itself says that the model attends to, in a single text: [layer head row time]."""
    module = tiny_module(name)
    module.set_attn_implementation("eager")
    network = tiny_model(name).classifier.network
    arguments = network.arguments(Inputs(batch.tokens, batch.mask).select(torch.tensor([row])))
    with torch.no_grad():
        output = module(**arguments, output_attentions=True)
    return torch.stack([weights[0] for weights in output.attentions]).numpy()


def by_word(weights, word_ids):
    count = max(word_ids) + 1
    return numpy.array([sum(weights[t] for t in range(len(word_ids)) if word_ids[t] == i) for i in range(count)])


def test_sites_show_what_transformers_says():
    for name in ["bert", "gpt2", "modernbert"]:
        for site in ["last", "layer:0", "head:1.0", "all", "rollout"]:
            seen = tiny_trace(name, site=site)
            for row in range(len(seen.attention)):
                all_weights = attentions_of(name, seen.batch, row)
                time = all_weights.shape[-1]
                rows = {"bert": [0], "gpt2": [time - 1], "modernbert": list(range(time))}[name]
                word_ids = seen.batch.sentence[row, :time].tolist()
                rolled = numpy.eye(time)
                for layer in all_weights.mean(1):
                    rolled = (0.5 * layer + 0.5 * numpy.eye(time)) @ rolled
                shown = {
                    "last": all_weights[1].mean(0),
                    "layer:0": all_weights[0].mean(0),
                    "head:1.0": all_weights[1, 0],
                    "all": all_weights.mean((0, 1)),
                    "rollout": rolled,
                }[site]
                words = by_word(shown[rows].mean(0), word_ids)
                numpy.testing.assert_allclose(
                    seen.attention[row, : len(words)].numpy(), words / words.sum(), rtol=1e-6, atol=1e-9
                )


def test_the_value_norm_is_the_length_of_what_a_word_adds():
    seen, module = tiny_trace("bert", site="value-norm"), tiny_module("bert")
    module.set_attn_implementation("eager")
    layer = module.bert.encoder.layer[-1].attention
    kept = {}
    handle = layer.self.value.register_forward_hook(lambda m, inputs, output: kept.update(values=output))
    network = tiny_model("bert").classifier.network
    arguments = network.arguments(Inputs(seen.batch.tokens, seen.batch.mask).select(torch.tensor([0])))
    with torch.no_grad():
        weights = module(**arguments, output_attentions=True).attentions[-1][0, :, 0]
    handle.remove()
    word_ids = seen.batch.sentence[0].tolist()
    values, projection = kept["values"][0].view(-1, 2, 8), layer.output.dense.weight.detach()
    norms = torch.zeros(3, dtype=torch.float64)
    for word in range(2):
        pieces = [place for place, number in enumerate(word_ids) if number == word]
        mixed = sum(torch.cat([weights[head, place] * values[place, head] for head in range(2)]) for place in pieces)
        norms[word] = (projection @ mixed).norm()
    shown = seen.attention[0, :2]
    torch.testing.assert_close(shown, norms[:2] / norms[:2].sum())


def test_an_encoder_decoder_shows_what_its_decoder_reads_of_the_encoder():
    seen = tiny_trace("bart")
    module = tiny_module("bart")
    module.set_attn_implementation("eager")
    classifier = load_inspected("bart", module, tokenizer_of("bart"))
    arguments = classifier.network.arguments(Inputs(seen.batch.tokens, seen.batch.mask).select(torch.tensor([0])))
    with torch.no_grad():
        cross = module(**arguments, output_attentions=True).cross_attentions[-1][0].mean(0)
    words = by_word(cross[-1].numpy(), seen.batch.sentence[0, : len(cross)].tolist())
    numpy.testing.assert_allclose(seen.attention[0, : len(words)], words / words.sum())
