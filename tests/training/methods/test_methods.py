"""What every method must do, over the whole dict, for models of every kind."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import heedful.training.methods
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import TrainingSettings
from heedful.training.methods import METHODS, bind_loss
from heedful.training.methods.method import Step
from heedful.types import Batch, Reference
from support.models import BATCH, LENGTHS, cut, make, make_batch

KINDS = {
    "token-wise": {"encoder": "average"},
    "recurrent": {"encoder": "bilstm"},
    "five classes": {"encoder": "cnn", "classes": 5},
    "sentences": {"encoder": "hierarchical"},
    "query": {"encoder": "bilstm", "classes": 5, "has_query": True, "attention": "dot"},
    "not linear": {"encoder": "bilstm", "has_query": True, "head": "tanh"},
}
REFUSED = {("alignment", "query"), ("alignment", "not linear"), ("guided_by_evidence", "not linear")}
"""Methods that refuse a kind of model."""
DRAWING = {"word_at", "attention_rp", "attention_at_weights", "seat_code", "consistency"}
"""Methods that draw noise: a text alone gets different noise than in a batch."""
TAKEN = [(name, kind) for name in METHODS for kind in KINDS if (name, kind) not in REFUSED]


def batch_for(kind: str) -> Batch:
    """A batch in which a word and a sentence of each text are unmarked, as method 'deceptive' needs."""
    batch = make_batch(KINDS[kind].get("has_query", False))
    return replace(batch, marks=batch.marks * torch.tensor([1.0, 0.0, 0.0])[:, None, None])


def reference_for(kind: str, batch: Batch) -> Reference:
    """The outputs of a model of the same kind with other weights."""
    base = make(**KINDS[kind])
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in base.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=draw, dtype=parameter.dtype))
        seen = trace(base, batch)
    return Reference(seen.attention, seen.logits, seen.attention.square())


def losses(name: str, kind: str, batch: Batch | None = None, model=None):
    batch = batch or batch_for(kind)
    model = model or make(**KINDS[kind])
    seen = trace(model, batch)
    loss = bind_loss(METHODS[name], TrainingSettings(method=name))
    return loss(Step(model, seen, reference_for(kind, batch), torch.Generator().manual_seed(0)))


def test_a_loss_is_finite_and_repeats_and_its_gradient_reaches_every_part_that_is_trained():
    for name, kind in TAKEN:
        model = make(**KINDS[kind])
        once, again = losses(name, kind, model=model), losses(name, kind)
        assert once.shape == (BATCH,) and once.isfinite().all()
        assert torch.equal(once, again)
        once.sum().backward()
        parts = {
            "attention": model.attention,
            "head": model.head,
            "encoder": model.encoder,
            "embedding": model.embedding,
        }
        for part, module in parts.items():
            gradients = [p.grad for p in module.parameters() if p.grad is not None]
            assert all(gradient.isfinite().all() for gradient in gradients)
            # dot-product attention with a query has no weights of its own
            if list(module.parameters()) and (part == "attention" or METHODS[name].trains == "all"):
                assert any(gradient.any() for gradient in gradients), part


def test_padding_and_neighbours_change_nothing():
    for name, kind in [(n, k) for n, k in TAKEN if k not in ("sentences", "not linear") and n not in DRAWING]:
        together, batch = losses(name, kind), batch_for(kind)
        for row, length in enumerate(LENGTHS.tolist()):
            alone = losses(name, kind, cut(batch, [row], length))
            torch.testing.assert_close(alone[0], together[row], atol=1e-12, rtol=0)


def test_nothing_of_the_trace_or_the_reference_is_changed():
    for name in METHODS:
        model, batch = make(), make_batch()
        seen, reference = trace(model, batch), reference_for("recurrent", batch)
        kept = [(part, f.name, getattr(part, f.name)) for part in (seen, reference) for f in fields(part)]
        before = [(part, field, tensor.clone()) for part, field, tensor in kept if torch.is_tensor(tensor)]
        METHODS[name].loss(Step(model, seen, reference, torch.Generator().manual_seed(0)))
        assert all(torch.equal(getattr(part, field), tensor) for part, field, tensor in before)


def test_an_attention_weight_that_underflowed_leaves_loss_and_gradient_finite():
    """All weight of each text on its first item, in the model, in the reference and in both."""
    for name in METHODS:
        model, batch = make(), batch_for("recurrent")
        reference = reference_for("recurrent", batch)
        first = torch.zeros_like(reference.attention)
        first[:, 0] = 1
        for underflowed in (False, True):
            seen = trace(model, batch)
            weights = (first if underflowed else seen.attention.detach()).clone().requires_grad_()
            seen = replace(seen, attention=weights, logits=model.decode(seen.encoded, weights))
            for base in (reference, replace(reference, attention=first)):
                values = METHODS[name].loss(Step(model, seen, base, torch.Generator().manual_seed(0)))
                (gradient,) = torch.autograd.grad(values.sum(), weights, retain_graph=True)
                assert values.isfinite().all() and gradient.isfinite().all()


def test_unknown_options_are_refused():
    for name in METHODS:
        with pytest.raises(SettingError, match="unknown option 'radus' of method '"):
            bind_loss(METHODS[name], TrainingSettings(method=name, options={"radus": 1}))


def test_a_method_that_needs_a_reference_says_so():
    for name in [name for name in METHODS if METHODS[name].needs_reference]:
        model, batch = make(), make_batch()
        with pytest.raises(SettingError, match="needs a reference run"):
            METHODS[name].loss(Step(model, trace(model, batch), None, torch.Generator()))


def test_a_method_says_what_it_minimises_in_a_line():
    for name in METHODS:
        assert (METHODS[name].loss.__doc__ or "").strip()


def test_every_file_of_the_folder_is_listed():
    folder = Path(heedful.training.methods.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "method"}
    assert files == {method.loss.__module__.rpartition(".")[2] for method in METHODS.values()}
