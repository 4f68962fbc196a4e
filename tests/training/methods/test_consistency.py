"""The ratio against a plain loop, exactness of the expected shuffle, and why even attention gains nothing."""

from math import log

import pytest
import torch

from heedful.data.batching import collate, encode_split
from heedful.exact import expected_permuted_js
from heedful.measures import js_divergence
from heedful.models.trace import rerun, trace
from heedful.training.loop import train
from heedful.training.methods.consistency import consistency, relative_move, shuffled_js
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from support.models import BATCH, LENGTHS, make, make_batch
from support.runs import changed, toy


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def js(p, q) -> float:
    def times_log(a, b):
        return a * log(2 * a / (a + b)) if a > 0 else 0.0

    return sum(times_log(a, b) + times_log(b, a) for a, b in zip(p, q, strict=True)) / 2


def test_it_is_what_a_plain_loop_over_texts_finds():
    model = make()
    seen = trace(model, make_batch())
    actual = consistency(Step(model, seen, None, drawn()), weight=0.7, radius=0.09)
    noise = 0.3 * torch.randn(seen.embedded.shape, generator=drawn(), dtype=torch.float64)
    for row, length in enumerate(LENGTHS.tolist()):
        own = seen.attention[row, :length].tolist()
        change = torch.zeros_like(seen.embedded)
        change[row, :length] = noise[row, :length]
        moved = js(own, rerun(model, seen, change).attention[row, :length].tolist())
        shifts = [js(own, own[shift:] + own[:shift]) for shift in range(length)]  # each weight on each item once
        shuffled = sum(shifts) / length
        term = moved / (moved + shuffled) if length > 1 else 0.0
        plain = -seen.logits[row].log_softmax(-1)[seen.batch.labels[row]].item()
        assert actual[row].item() == pytest.approx(plain + 0.7 * term, abs=1e-9)


def test_the_expected_shuffle_is_the_verdicts():
    seen = trace(make(), make_batch())
    attention, items = seen.attention.detach(), seen.encoded.items
    wanted = expected_permuted_js(attention, items)
    torch.testing.assert_close(shuffled_js(attention, items, drawn(), 64), wanted, atol=1e-12, rtol=0)


def test_even_attention_gains_nothing():
    """Scores ten times closer together move a hundred times less, and so do shuffled ones."""
    items = torch.ones(1, 6, dtype=torch.bool)
    scores, noise = (torch.randn(1, 6, generator=drawn(seed), dtype=torch.float64) for seed in (1, 2))
    moves, ratios = [], []
    for scale in (0.01, 0.001):
        own, other = (scale * scores).softmax(-1), (scale * (scores + noise)).softmax(-1)
        moves.append(js_divergence(own, other, items))
        ratios.append(relative_move(moves[-1], shuffled_js(own, items, drawn(), 9)))
    assert (moves[1] < moves[0] / 50).all()
    torch.testing.assert_close(ratios[0], ratios[1], rtol=0.02, atol=0)


@pytest.mark.parametrize("attention", ["uniform", "additive"])
def test_attention_that_cannot_move_leaves_loss_and_gradient_finite(attention):
    """A text of one item, and weights that are all alike."""
    model = make("bilstm", attention)
    seen = trace(model, make_batch())
    values = consistency(Step(model, seen, None, drawn()))
    values.sum().backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert values.isfinite().all() and all(gradient.isfinite().all() for gradient in gradients)
    plain = vanilla(Step(model, seen, None, drawn()))
    assert values[BATCH - 1] == plain[BATCH - 1] and (attention == "additive") == bool((values != plain).any())


def test_training_steadies_attention_and_leaves_it_uneven():
    data = toy()

    def trained(method, **options):
        training = {"training__method": method, "training__options": options, "training__epochs": 10}
        return train(changed(training__selection="train", **training), data)

    plain, steady = trained("vanilla"), trained("consistency", weight=2.0, radius=1.0)
    assert steady.scores["test"]["roc_auc"] == 1.0

    def relative(run):
        model, split = run.model.eval(), encode_split(data.test, run.words)
        seen = trace(model, collate(split, range(len(data.test))))
        noise = torch.randn(seen.embedded.shape, generator=drawn()) * seen.batch.mask[..., None]
        moved = js_divergence(rerun(model, seen, noise).attention, seen.attention, seen.encoded.items)
        shuffled = expected_permuted_js(seen.attention, seen.encoded.items)
        return (moved.mean() / shuffled.mean()).item(), shuffled.mean().item()

    (before, _), (after, uneven) = relative(plain), relative(steady)
    assert after < before / 5 and uneven > 0.02
