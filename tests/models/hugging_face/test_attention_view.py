from dataclasses import replace

import pytest
import torch

from heedful.attribution.gradient import weight_gradient
from heedful.attribution.leave_one_out import leave_one_out
from heedful.errors import SettingError
from heedful.models.hugging_face import attention_view
from heedful.models.trace import rerun, trace
from heedful.types import Encoded
from support.tiny_transformers import TEXTS, tiny_batch, tiny_model, tiny_trace


def test_however_many_are_run_at_once_the_answers_are_the_same(monkeypatch):
    for name in ["bert", "modernbert", "xlnet"]:
        for most in [1, 3, 40]:
            model, seen = tiny_model(name), tiny_trace(name)
            drawn = torch.rand(
                *seen.attention.shape[:1], 5, seen.attention.shape[1], generator=torch.Generator().manual_seed(0)
            )
            variants = drawn.double().masked_fill(~seen.encoded.items[:, None], 0.0)
            variants = variants / variants.sum(-1, keepdim=True)
            together = model.decode_each(seen.encoded, variants)
            monkeypatch.setattr(attention_view, "ROWS", most)
            monkeypatch.setattr(attention_view, "TOKENS", most)
            torch.testing.assert_close(model.decode_each(seen.encoded, variants), together)


SITES = ("last", "layer:0", "head:1.0", "rollout", "value-norm", "all")
SCOPES = ("row", "row-all-layers", "all-rows")


def even(items):
    return (items / items.sum(1, keepdim=True)).double()


@pytest.mark.parametrize("name", ["bert", "gpt2", "modernbert"])
def test_at_every_site_and_scope_the_shown_attention_changes_nothing_and_another_does(name):
    for site in SITES:
        for scope in SCOPES:
            model, seen = tiny_model(name, site=site, scope=scope), tiny_trace(name, site=site, scope=scope)
            assert (str(model.site), model.scope) == (site, scope)
            torch.testing.assert_close(seen.attention.sum(1), torch.ones(len(TEXTS), dtype=torch.float64))
            with torch.no_grad():
                own = model.decode(seen.encoded, seen.attention.clone())
                other = model.decode(seen.encoded, seen.attention.flip(1).where(seen.encoded.items, 0.0))
            torch.testing.assert_close(own, tiny_trace(name).logits, rtol=0, atol=1e-9)
            assert (other - own).abs().max() > 1e-3


def test_one_head_is_changed_alone():
    model, seen = tiny_model("bert", site="head:1.0"), tiny_trace("bert", site="head:1.0")
    assert seen.encoded.change.heads.tolist() == [[True, False]] * len(TEXTS)
    with torch.no_grad():
        alone = model.decode(seen.encoded, even(seen.encoded.items))
        both = tiny_model("bert").impose_each(tiny_trace("bert").encoded, even(seen.encoded.items)[:, None])[:, 0]
    assert (alone - both).abs().max() > 1e-3
    assert tiny_trace("bert", site="head:1.0", scope="row-all-layers").encoded.change.heads is None


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_imposed_attention_is_the_same_in_every_head(name):
    model, seen = tiny_model(name), tiny_trace(name)
    other = even(seen.encoded.items)
    with torch.no_grad():
        encoded = model.imposing(seen.encoded, other)
        assert torch.equal(model.attend(encoded, seen.batch)[1], other)
        logits = model.decode(encoded, other)
        torch.testing.assert_close(model.impose_each(seen.encoded, other[:, None])[:, 0], logits)
        # Reweighed, the heads stay different from each other.
        assert (model.decode(seen.encoded, other) - logits).abs().max() > 1e-4
        # Where all heads are alike, reweighing and imposing are the same.
        seen_attention = torch.rand_like(other).masked_fill(~seen.encoded.items, 0.0)
        seen_attention = seen_attention / seen_attention.sum(1, keepdim=True)
        again = model.decode(encoded, seen_attention)
        torch.testing.assert_close(again, model.impose_each(seen.encoded, seen_attention[:, None])[:, 0])


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_permuted_words_exchange_their_weights(name):
    model, seen = tiny_model(name), tiny_trace(name)
    count = seen.encoded.items.sum(1, keepdim=True)
    place = torch.arange(seen.attention.shape[1]).expand_as(seen.attention)
    order = torch.where(place < count, (place + 1) % count, place)
    with torch.no_grad():
        encoded = model.permuting(seen.encoded, order)
        torch.testing.assert_close(model.attend(encoded, seen.batch)[1], seen.attention.gather(1, order))
        permuted = model.decode(encoded, encoded.attention)
        same = model.permuting(seen.encoded, place)
        torch.testing.assert_close(model.decode(same, same.attention), seen.logits)
    assert (permuted - seen.logits).abs().max() > 1e-3


def test_weight_gradients_are_those_of_free_variables():
    """attention x gradient is the sum over heads of weight x gradient, no renormalization differentiated."""
    model, seen = tiny_model("bert"), tiny_trace("bert")
    gradient, step, word = weight_gradient(model, seen), 1e-5, 1
    ratio = torch.ones_like(seen.attention)
    ratio[:, word] += step
    (part,) = seen.encoded.parts
    context = part.state.context(replace(seen.encoded.change, factor=ratio))
    words = part.state.words
    free = torch.einsum("bhi,bhid->bhd", words * ratio[:, None], part.state.word_values) + part.state.special_context
    assert not torch.allclose(free, context)
    moved = model.one_row.logits_of(part.state, free).softmax(-1)
    predicted = seen.logits.argmax(-1, keepdim=True)
    slope = (moved.gather(1, predicted) - seen.logits.softmax(-1).gather(1, predicted))[:, 0] / step
    torch.testing.assert_close(gradient[:, word] * seen.attention[:, word], slope, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "modernbert", "gpt2"])
def test_where_attention_is_not_held_derivatives_are_the_models_own(name):
    """An attack on embeddings differentiates the model as it is, attention and all."""
    model, seen = tiny_model(name), tiny_trace(name)
    change = torch.zeros_like(seen.embedded, requires_grad=True)
    (slope,) = torch.autograd.grad(rerun(model, seen, change).logits[:, 0].sum(), change)
    direction = torch.randn(seen.embedded.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    direction = direction * seen.batch.mask[..., None]
    step = 1e-4
    with torch.no_grad():
        ends = [rerun(model, seen, sign * step * direction).logits[:, 0].sum() for sign in (1, -1)]
    assert (slope * direction).sum().item() == pytest.approx(float(ends[0] - ends[1]) / (2 * step), rel=1e-3)


def test_leaving_a_word_out_deletes_all_its_pieces():
    model = tiny_model("bert")
    text = "bad plot , unlikely and not good"
    with torch.no_grad():
        seen = trace(model, tiny_batch(model, (text,)))
        without = leave_one_out(model, seen)
        shorter = trace(model, tiny_batch(model, ("bad plot , and not good",))).logits
    torch.testing.assert_close(without[:, 3], shorter)


def test_a_batch_must_say_which_word_a_token_belongs_to():
    model = tiny_model("bert")
    batch = replace(tiny_batch(model), sentence=None)
    with pytest.raises(SettingError, match="which word each token belongs to"):
        model.encode(model.embed(batch), batch)


def test_what_another_model_encoded_is_refused():
    model = tiny_model("bert")
    with pytest.raises(SettingError, match="it is of another model"):
        model.decode(Encoded(torch.zeros(1, 1, 1), torch.ones(1, 1, dtype=torch.bool)), torch.ones(1, 1))


def test_pairs_of_texts_are_read_with_their_segments():
    model = tiny_model("bert")
    with torch.no_grad():
        seen = trace(model, tiny_batch(model, (("the film is good", "bad film"), ("good", "bad plot"))))
        swapped = trace(model, tiny_batch(model, (("bad film", "the film is good"),)))
    assert seen.encoded.items.sum(1).tolist() == [3, 6]
    assert (seen.logits[1] - swapped.logits[0]).abs().max() > 1e-3
