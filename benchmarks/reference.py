"""The tests of the battery as one would first write them: one text and one change at a time, the model run for each.

What `benchmarks/audit.py` measures us against. Each takes a model, the batch of a single text, and what the model
computes of it, and computes the value alone, where the battery computes its floor and yardsticks as well.
"""

from dataclasses import replace

import torch
from scipy.stats import kendalltau

from heedful.battery.adversarial_attention import draw_start, search_adversary
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.types import Batch, Trace


def read(model: AttentionModel, batch: Batch) -> Trace:
    with torch.no_grad():
        return trace(model, batch)


def places(batch: Batch) -> list[int]:
    """Where the items of the text stand."""
    return batch.attendable_mask[0].nonzero()[:, 0].tolist()


def gradient_agreement(model: AttentionModel, batch: Batch, seen: Trace) -> float:
    embedded = model.embed(batch).detach().requires_grad_()
    encoded = model.encode(embedded, batch)
    _, attention = model.attend(encoded, batch)
    model.decode(encoded, attention.detach()).softmax(-1).max().backward()
    importance = (embedded.grad * embedded).sum(-1).abs()[0]
    model.zero_grad()
    own = places(batch)
    return kendalltau(attention[0, own].detach().numpy(), importance[own].detach().numpy()).statistic


def leave_one_out(model: AttentionModel, batch: Batch, seen: Trace) -> float:
    return kendalltau(seen.attention[0, places(batch)].numpy(), deletions(model, batch, seen)).statistic


def deletions(model: AttentionModel, batch: Batch, seen: Trace) -> list[float]:
    """How far the prediction moves without each item."""
    before, moved = seen.logits.softmax(-1), []
    for place in places(batch):
        moved.append((read(model, without(batch, {place})).logits.softmax(-1) - before).abs().sum().item() / 2)
    return moved


def without(batch: Batch, gone: set[int]) -> Batch:
    """The text without the tokens at these places."""
    keep = [i for i in range(batch.tokens.shape[1]) if i not in gone]
    return replace(batch, **{name: getattr(batch, name)[:, keep] for name in ("tokens", "mask", "attendable_mask")})


def permutation(model: AttentionModel, batch: Batch, seen: Trace, count: int = 100) -> float:
    own = places(batch)
    before, moved = seen.logits.softmax(-1), []
    with torch.no_grad():
        for _ in range(count):
            attention = seen.attention.clone()
            attention[0, own] = attention[0, own][torch.randperm(len(own))]
            moved.append((model.decode(seen.encoded, attention).softmax(-1) - before).abs().sum().item() / 2)
    return sorted(moved)[count // 2]


def adversarial_attention(model: AttentionModel, batch: Batch, seen: Trace) -> float:
    start = draw_start(seen.encoded.items, torch.Generator().manual_seed(0)).float()
    result = search_adversary(lambda w: model.decode(seen.encoded, w), seen.attention, seen.encoded.items, start)
    return result.best(0.01)[0].item()


def decide_without(model: AttentionModel, seen: Trace, erased: list[int]) -> int:
    with torch.no_grad():
        attention = seen.attention.clone()
        attention[0, erased] = 0
        return int(model.decode(seen.encoded, attention / attention.sum().clamp_min(1e-12)).argmax())


def erase_one(model: AttentionModel, batch: Batch, seen: Trace) -> list[bool]:
    decided = int(seen.logits.argmax())
    return [decide_without(model, seen, [place]) != decided for place in places(batch)]


def erase_until_flip(model: AttentionModel, batch: Batch, seen: Trace, rankings: int = 100) -> list[int]:
    """Items erased by attention, by the gradient of the weights, by their product, and by random rankings."""
    own = places(batch)
    weights = seen.attention.clone().requires_grad_()
    model.decode(replace_hidden(seen), weights).softmax(-1).max().backward()
    gradient, attention = weights.grad[0], seen.attention[0]
    orders = [sorted(own, key=lambda i, by=by: -by[i].item()) for by in (attention, gradient, gradient * attention)]
    orders += [[own[i] for i in torch.randperm(len(own)).tolist()] for _ in range(rankings)]
    decided = int(seen.logits.argmax())
    counts = []
    for order in orders:
        # Something must be left: the decision on the empty text says nothing about this one.
        flipped = (n for n in range(1, len(order)) if decide_without(model, seen, order[:n]) != decided)
        counts.append(next(flipped, len(order)))
    model.zero_grad()
    return counts


def replace_hidden(seen: Trace):
    return replace(seen.encoded, hidden=seen.encoded.hidden.detach())


def uniform(model: AttentionModel, batch: Batch, seen: Trace) -> int:
    with torch.no_grad():
        return int(model.decode(seen.encoded, seen.encoded.items / seen.encoded.items.sum()).argmax())


def comprehensiveness_sufficiency(model: AttentionModel, batch: Batch, seen: Trace) -> list[float]:
    """The top words of four rankings at five sizes, deleted and alone: the model run for each."""
    own, before = places(batch), seen.logits.softmax(-1).max().item()
    weights = seen.attention.clone().requires_grad_()
    model.decode(replace_hidden(seen), weights).softmax(-1).max().backward()
    importance = dict(zip(own, deletions(model, batch, seen), strict=True))
    model.zero_grad()
    orders = [
        sorted(own, key=lambda i: -seen.attention[0, i].item()),
        sorted(own, key=lambda i: -weights.grad[0, i].item()),
        sorted(own, key=lambda i: -importance[i]),
        [own[i] for i in torch.randperm(len(own)).tolist()],
    ]
    lost = []
    for order in orders:
        for size in (1, 3, 5, 10, max(1, len(own) // 5)):
            for gone in (set(order[:size]), set(order[size:])):
                if 0 < len(gone) < len(own):
                    p = read(model, without(batch, gone)).logits.softmax(-1)[0, seen.logits.argmax()]
                    lost.append(before - p.item())
    return lost


TESTS = {
    "gradient_agreement": gradient_agreement,
    "leave_one_out_agreement": leave_one_out,
    "permutation": permutation,
    "adversarial_attention": adversarial_attention,
    "erase_one": erase_one,
    "erase_until_flip": erase_until_flip,
    "comprehensiveness_sufficiency": comprehensiveness_sufficiency,
    "uniform": uniform,
}
