"""The attention loss by hand, against HateXplain's formula, and what training by it does to attention."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from heedful.errors import SettingError
from heedful.models.attention import masked_softmax
from heedful.models.trace import trace
from heedful.settings import TrainingSettings
from heedful.training.methods import bind_loss
from heedful.training.methods.guided_by_rationales import (
    METHOD,
    annotator_shares,
    guided_by_rationales,
    rationale_kl,
)
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from support.by_hand import Bag, batch_of
from support.marked import with_marks
from support.models import BATCH, LENGTHS, TIME, make, make_batch

NOTHING = torch.Generator()
NAN = torch.nan


def marks_for(batch):
    """Two annotators of the first text, one of the second, nobody of the third."""
    marks = torch.zeros(BATCH, 2, TIME)
    marks[0, 0, [1, 2]] = 1
    marks[0, 1, 2] = 1
    marks[1, 0, 3] = 1
    marks[1, 1] = NAN
    marks[2] = NAN
    return with_marks(batch, marks)


def losses(model, batch, **options):
    seen = trace(model, batch)
    return guided_by_rationales(Step(model, seen, None, NOTHING), **options), vanilla(Step(model, seen, None, NOTHING))


def test_by_hand():
    """Of two words with weights 3/4 and 1/4 the second is marked, with a sharpness of ln 3: KL of (1/4, 3/4)."""
    model = Bag(torch.tensor([2.0, -6.0]).double(), torch.tensor([0.75, 0.25]).double().log())
    batch = with_marks(batch_of(1, 2), torch.tensor([[[0.0, 1.0]]]))
    log3 = torch.tensor(3.0).double().log()
    guided, plain = losses(model, batch, weight=2.0, sharpness=log3.item())
    wanted = 0.25 * -log3 + 0.75 * log3
    torch.testing.assert_close(guided - plain, 2 * wanted[None])


def test_the_target_is_the_share_of_annotators():
    share, is_known = annotator_shares(trace(make(), marks_for(make_batch())))
    assert share[0].tolist() == [0, 0.5, 1, 0, 0, 0, 0] and share[1].tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert is_known.tolist() == [True, True, False]


@pytest.mark.parametrize("compared", ["attention", "softmax"])
def test_it_is_cross_entropy_with_the_target_but_for_a_constant(compared):
    """HateXplain's code takes the softmax of the weights: the same target, and the same gradient, text by text."""
    model, batch = make(), marks_for(make_batch())
    seen = trace(model, batch)
    share, _ = annotator_shares(seen)
    actual = rationale_kl(seen, sharpness=5.0, compared=compared)
    for row, length in enumerate(LENGTHS[:2].tolist()):
        weights = seen.attention[row, :length]
        target = (5 * share[row, :length]).softmax(-1)
        logs = weights.log_softmax(-1) if compared == "softmax" else weights.log()
        entropy = -(target * target.log()).sum()
        torch.testing.assert_close(actual[row] + entropy, -(target * logs).sum())


def test_texts_that_nobody_looked_at_are_trained_plainly():
    batch = marks_for(make_batch())
    guided, plain = losses(make(), batch)
    assert guided[2] == plain[2] and (guided[:2] > plain[:2]).all()
    unseen, plain = losses(make(), with_marks(batch, torch.full_like(batch.marks, NAN)))
    assert torch.equal(unseen, plain)


def test_where_nothing_is_marked_the_target_is_uniform():
    model, batch = make("bilstm", "uniform"), make_batch()
    guided, plain = losses(model, with_marks(batch, torch.zeros(BATCH, 1, TIME)))
    torch.testing.assert_close(guided, plain)


@pytest.mark.parametrize("compared", ["attention", "softmax"])
def test_descending_the_loss_draws_attention_to_marked_words(compared):
    """By the scores themselves: no model stands between."""
    seen = trace(make(), marks_for(make_batch()))
    scores = torch.zeros(BATCH, TIME, dtype=torch.float64, requires_grad=True)
    for _ in range(200):
        weights = masked_softmax(scores, seen.encoded.items)
        value = rationale_kl(replace(seen, attention=weights), sharpness=5.0, compared=compared)
        (gradient,) = torch.autograd.grad(value.sum(), scores)
        assert gradient.isfinite().all() and (gradient[2] == 0).all()
        scores = (scores - 2 * gradient).detach().requires_grad_()
    weights = masked_softmax(scores, seen.encoded.items).detach()
    assert weights[0].argmax() == 2 and weights[1].argmax() == 3
    if compared == "attention":
        share, _ = annotator_shares(seen)
        torch.testing.assert_close(weights[0], (5 * share[0]).softmax(-1), atol=1e-3, rtol=0)


def test_sentences_are_marked_where_a_word_of_them_is():
    share, _ = annotator_shares(trace(make("hierarchical"), marks_for(make_batch())))
    assert share[0].tolist() == [1, 0, 0] and share[1].tolist() == [0, 1, 0]


def test_texts_without_marks_are_refused_with_what_to_do():
    model, seen = make(), trace(make(), replace(make_batch(), marks=None))
    with pytest.raises(
        SettingError, match="'guided_by_rationales' needs texts in which people marked words.*--rationale"
    ):
        METHOD.loss(Step(model, seen, None, NOTHING))


def test_options_are_checked():
    settings = TrainingSettings(method="guided_by_rationales", options={"weight": 100.0, "compared": "softmax"})
    model, batch = make(), marks_for(make_batch())
    seen = trace(model, batch)
    value = bind_loss(METHOD, settings)(Step(model, seen, None, NOTHING))
    plain = cross_entropy(seen.logits, batch.labels, reduction="none")
    torch.testing.assert_close(value, plain + 100 * rationale_kl(seen, sharpness=5.0, compared="softmax"))
    for wrong in ({"weight": -1.0}, {"compared": "scores"}, {"strength": 1.0}):
        with pytest.raises(SettingError, match="option"):
            bind_loss(METHOD, TrainingSettings(method="guided_by_rationales", options=wrong))
