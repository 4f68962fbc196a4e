"""Reference implementations of the parts of every loss: one text at a time, unbatched, gradients by autograd."""

from collections.abc import Iterator

from torch import Tensor

from heedful.types import Batch, Encoded
from support.models import LENGTHS, cut


def texts(batch: Batch) -> Iterator[tuple[int, int, Batch]]:
    """Each text as a batch of its own without padding: its row, its length, and the batch."""
    for row, length in enumerate(LENGTHS.tolist()):
        yield row, length, cut(batch, [row], length)


def label_loss(logits: Tensor, label: Tensor) -> Tensor:
    """-ln p(label) of one text."""
    odds = logits.flatten().exp()
    return -(odds[int(label)] / odds.sum()).log()


def divergence(logits: Tensor, others: Tensor) -> Tensor:
    """KL(p || q) of the probabilities that the first and the second logits give, for one text."""
    p, q = (odds / odds.sum() for odds in (logits.flatten().exp(), others.flatten().exp()))
    return sum(a * (a / b).log() for a, b in zip(p, q, strict=True))  # pyright: ignore[reportReturnType]


def top_k_gap(a: Tensor, b: Tensor, k: int) -> float:
    """Equation 5 of Hu et al. (2023) by sorting lists."""
    a, b = a.flatten().tolist(), b.flatten().tolist()
    total = 0.0
    for weights in (a, b):
        total += sum(abs(a[i] - b[i]) for i in sorted(range(len(a)), key=lambda i: -weights[i])[:k])
    return total / (2 * k)


def read(model, embedded: Tensor, batch: Batch) -> tuple[Encoded, Tensor, Tensor, Tensor]:
    """States, scores, attention and logits of one text from its embeddings."""
    encoded = model.encode(embedded, batch)
    scores, attention = model.attend(encoded, batch)
    return encoded, scores, attention, model.decode(encoded, attention)


def worst_embedding(model, batch: Batch, start: Tensor, radius: float, steps: int, clamp: bool = False) -> Tensor:
    """The embeddings after `steps` sign steps of 2 radius / steps, for one text."""
    embedded = model.embed(batch).detach()
    change = start.clone()
    for _ in range(steps):
        leaf = change.clone().requires_grad_()
        label_loss(read(model, embedded + leaf, batch)[3], batch.labels[0]).backward()
        assert leaf.grad is not None
        change = (change + 2 * radius / steps * leaf.grad.sign()).clamp(-radius, radius)
        if clamp:
            change = (embedded + change).clamp(0, 1) - embedded
    return embedded + change
