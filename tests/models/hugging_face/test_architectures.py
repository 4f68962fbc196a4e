"""One suite over tiny random models of many architectures: both transports, decoders, encoder-decoders."""

from dataclasses import replace

import pytest
import torch

from heedful.attribution.gradient import input_gradients
from heedful.models.hugging_face.attention_hooks import AttentionHook
from heedful.models.hugging_face.network import Inputs
from heedful.models.trace import trace
from support.tiny_transformers import (
    BY_SOFTMAX,
    CONFIGS,
    SEVERAL,
    TEXTS,
    WHOLE,
    WITHOUT_SYMBOLS,
    tiny_batch,
    tiny_model,
    tiny_module,
    tiny_trace,
)

FLOAT32 = ("gpt-oss",)
"""Architectures that cannot be run in float64."""
LEAKY = ("convbert", "mobilebert")
"""Architectures in which words mix by other ways than attention."""


FLOAT32_ATTENTION = ("gptj", "xlm")
"""Architectures that compute their scores in float32, whatever they are run in."""
SINKS = ("gpt-oss",)
"""Architectures in which some weight falls on no token at all."""


def tolerance(name):
    return 3e-6 if name in (*FLOAT32, *FLOAT32_ATTENTION) else 1e-9


def dtype_of(name):
    return torch.float32 if name in FLOAT32 else torch.float64


def model_of(name):
    return tiny_model(name, dtype_of(name))


def trace_of(name):
    return tiny_trace(name, dtype_of(name))


def some_attention(seen):
    drawn = torch.rand(seen.attention.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    weights = drawn.masked_fill(~seen.encoded.items, 0.0)
    return weights / weights.sum(1, keepdim=True)


class Replacing(AttentionHook):
    """Puts given numbers in the place of one row of the last call's weights."""

    def __init__(self, call, rows, row_weights):
        self.call, self.rows, self.row_weights = call, rows, row_weights

    def weights(self, call, weights):
        if call != self.call:
            return weights
        weights = weights.to(self.row_weights.dtype).clone()
        for row in self.rows:
            weights[0, :, row] = self.row_weights[:, row]
        return weights


class Keeping(AttentionHook):
    def weights(self, call, weights):
        self.last = weights
        return weights


def reweighed_by_hand(weights, word_ids, ratio):
    """Weights of tokens when each word's are multiplied and each head's words keep what they have together."""
    new = weights.clone()
    for head in range(weights.shape[0]):
        for row in range(weights.shape[1]):
            words = [place for place, word in enumerate(word_ids) if word >= 0]
            before = sum(float(weights[head, row, place]) for place in words)
            after = sum(float(weights[head, row, place]) * ratio[word_ids[place]] for place in words)
            for place in words:
                new[head, row, place] = weights[head, row, place] * ratio[word_ids[place]] * before / after
    return new


@pytest.mark.parametrize("name", CONFIGS)
def test_logits_are_those_of_the_untouched_model(name):
    seen, module = trace_of(name), tiny_module(name, dtype_of(name))
    module.config._attn_implementation = "eager"
    network = model_of(name).classifier.network
    for row, mask in enumerate(seen.batch.mask):
        arguments = network.arguments(network_inputs(seen.batch, row))
        torch.testing.assert_close(
            seen.logits[row], module(**arguments).logits[0].double(), rtol=0, atol=tolerance(name)
        )
        assert mask.sum() == arguments["input_ids"].shape[1]


def network_inputs(batch, row):
    return Inputs(batch.tokens, batch.mask).select(torch.tensor([row]))


def test_the_transport_and_the_decoder_are_the_expected_ones():
    for name in CONFIGS:
        model = model_of(name)
        assert model.classifier.network.transport == ("softmax" if name in BY_SOFTMAX else "interface")
        assert (model.classifier.anatomy.rows.place is None) == (name in SEVERAL)
        assert (model.one_row is None) == (name in (*SEVERAL, *WHOLE))


def test_imposing_the_recorded_attention_changes_nothing():
    for name in CONFIGS:
        seen, model = trace_of(name), model_of(name)
        with torch.no_grad():
            for scope in ("row", "row-all-layers", "all-rows"):
                view = model.at("last", scope)
                encoded = view.encode(seen.embedded, seen.batch)
                logits = view.decode(encoded, seen.attention.clone())
                torch.testing.assert_close(logits, seen.logits, rtol=0, atol=tolerance(name))


@pytest.mark.parametrize("name", CONFIGS)
def test_imposing_another_does_what_the_full_model_does(name):
    seen, model = trace_of(name), model_of(name)
    network, anatomy = model.classifier.network, model.classifier.anatomy
    other = some_attention(seen)
    with torch.no_grad():
        logits = model.decode(seen.encoded, other)
        assert (logits - seen.logits).abs().max() > 0.01
        for row in range(len(other)):
            inputs, keeping = network_inputs(seen.batch, row), Keeping()
            network.logits(inputs, keeping)
            word_ids = seen.batch.sentence[row, : inputs.tokens.shape[1]].tolist()
            ratio = (other[row] / seen.attention[row]).nan_to_num(posinf=0.0).tolist()
            places = anatomy.rows.of(inputs.mask)
            rows = range(len(word_ids)) if places is None else places.tolist()
            expected = reweighed_by_hand(keeping.last[0].to(network.dtype), word_ids, ratio)
            by_hand = network.logits(inputs, Replacing(anatomy.layers - 1, rows, expected))[0]
            torch.testing.assert_close(logits[row], by_hand.double(), rtol=0, atol=tolerance(name))


def test_padding_never_changes_a_number():
    for name in CONFIGS:
        seen, model = trace_of(name), model_of(name)
        other = some_attention(seen)
        with torch.no_grad():
            together = model.decode(seen.encoded, other)
            for row, number in enumerate(seen.batch.index.tolist()):
                alone = trace(model, tiny_batch(model, TEXTS[number : number + 1]))
                count = alone.attention.shape[1]
                imposed = model.decode(alone.encoded, other[row : row + 1, :count])
                pairs = [
                    (alone.logits[0], seen.logits[row]),
                    (alone.attention[0], seen.attention[row, :count]),
                    (imposed[0], together[row]),
                ]
                for single, beside in pairs:
                    torch.testing.assert_close(single, beside, rtol=0, atol=tolerance(name))
                assert not seen.attention[row, count:].any()


def test_words_add_up_to_one_with_the_special_tokens():
    for name in CONFIGS:
        seen = trace_of(name)
        for part in seen.encoded.parts:
            total = part.shown.words.sum(-1) + part.shown.special
            torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-6)
            assert (part.shown.words >= 0).all()
            assert (part.shown.special > 1e-6).any() == (name not in WITHOUT_SYMBOLS)
        torch.testing.assert_close(seen.attention.sum(1), torch.ones(len(TEXTS), dtype=torch.float64))


def test_without_weight_in_any_row_words_have_no_influence():
    """With all rows blind to words, a word's vectors may be anything; with one row blind, they leak through others."""
    for name in [name for name in CONFIGS if name not in (*SEVERAL, *LEAKY, *SINKS)]:
        seen, model = trace_of(name), model_of(name)
        noise = torch.randn(seen.embedded.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        other = seen.embedded + noise * (seen.batch.sentence == 0)[..., None]
        moved = {}
        with torch.no_grad():
            for scope in ("row", "all-rows"):
                view = model.at("last", scope)
                blind = [
                    view.decode(view.encode(embedded, seen.batch), torch.zeros_like(seen.attention))
                    for embedded in (seen.embedded, other)
                ]
                moved[scope] = float((blind[0] - blind[1]).abs().max())
        assert moved["all-rows"] <= tolerance(name)
        assert moved["row"] > 1e-4


def check_gradient(name):
    """With attention held fixed, in every head; the step is long because some models compute parts in float32."""
    seen, model = trace_of(name), model_of(name)
    gradient, step = input_gradients(model, seen, [(seen.attention, seen.logits.argmax(-1))])[0].abs(), 1e-3

    def probability(sign):
        scale = 1 + sign * step * (seen.batch.sentence == 1)[..., None].double()
        moved = model.encode(seen.embedded * scale, seen.batch)
        pairs = zip(moved.parts, seen.encoded.parts, strict=True)
        held = [replace(new, state=replace(new.state, weights=old.state.weights)) for new, old in pairs]
        logits = model.decode(replace(moved, parts=tuple(held), attention=seen.attention), seen.attention)
        return logits.softmax(-1).gather(1, seen.logits.argmax(-1)[:, None])[:, 0]

    with torch.no_grad():
        slope = (probability(1) - probability(-1)) / (2 * step)
    # BLOOM normalizes each embedding, so that its length does not matter.
    assert (gradient[:, 1] > 1e-3).any() or name == "bloom"
    torch.testing.assert_close(gradient[:, 1], slope.abs(), rtol=0.01, atol=5e-4)


def test_the_input_gradient_is_a_small_step_along_the_words_vectors():
    for name in CONFIGS:
        if name not in (*SEVERAL, *WHOLE, *FLOAT32):
            check_gradient(name)
