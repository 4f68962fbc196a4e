"""Whether a model is linear after attention, as it says: exact answers depend on it, so every batch is checked."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.types import LinearModel, Model, Trace

SINGLES, PAIRS, RANDOM = 64, 96, 2
"""Maximum numbers of attention distributions per text: on one item, on two, and random; with the model's own, 163."""
SHARES = (0.5, 0.25, 0.75)
"""What the first of two items gets, in turn."""
EXACT, COARSE = 1e-6, 1e-4
"""How far logits may be off, relative to the largest: in float64, and in anything coarser."""
SMALL = 0.1
"""Logits that are all below this are judged as if the largest were this: compared with it, they might be nothing but
rounding."""


@torch.no_grad()
def validate_linearity(model: Model, seen: Trace) -> Model:
    """The model, if it does not define `item_logits`, or if they hold on this batch; else an error with the numbers.

    `decode` must give the sum of attention x item_logits, for every text: under the model's own attention, under random
    ones, with all weight on one item and with weight on two. Up to 8 items, that is every item, and every pair with
    1/4, 1/2 and 3/4 on the first; up to 13, every pair; of longer texts, items and pairs drawn at random.
    `empty_logits` must be what `decode` gives without any weight, unless it refuses that or gives no number.
    """
    if not isinstance(model, LinearModel):
        return model
    batch, items = seen.encoded.items.shape
    item_logits = model.item_logits(seen.encoded)
    _validate_shape("item_logits", item_logits, "batch, item, classes", (batch, items, seen.logits.shape[1]))
    empty_logits = model.empty_logits(seen.encoded)
    _validate_shape("empty_logits", empty_logits, "batch, classes", (batch, seen.logits.shape[1]))
    _validate_finite(item_logits, seen)
    tolerance = logit_tolerance(item_logits, seen)
    _validate_sums(model, seen, item_logits, tolerance)
    _validate_empty(model, seen, empty_logits, tolerance)
    return model


def _validate_finite(item_logits: Float[Tensor, "batch item classes"], seen: Trace) -> None:
    """Refuse item logits that are no numbers, where there is an item."""
    wrong = (~item_logits.isfinite().all(-1)).to(seen.encoded.items.device) & seen.encoded.items
    if wrong.any():
        text, item = wrong.nonzero()[0].tolist()
        raise HeedfulError(
            f"`item_logits` does not fit `decode`: of item {item} of text {int(seen.batch.index[text])} it returns "
            f"{item_logits[text, item].tolist()}, which are not all numbers. Correct it, or remove it and "
            "`empty_logits`, and answers are searched for instead of exact."
        )


def logit_tolerance(item_logits: Float[Tensor, "batch item classes"], seen: Trace) -> float:
    """How far logits of this batch may be off: 1e-6 of the largest item logit, 1e-4 in coarser floats than float64."""
    real = seen.encoded.items.to(item_logits.device)[..., None] & item_logits.isfinite()
    largest = item_logits.where(real, 0.0).abs().max().item()
    is_double = {item_logits.dtype, seen.logits.dtype, seen.attention.dtype} == {torch.float64}
    return (EXACT if is_double else COARSE) * max(largest, SMALL)


def _validate_shape(name: str, logits: Tensor, axes: str, wanted: tuple[int, ...]) -> None:
    if tuple(logits.shape) != wanted:
        raise HeedfulError(
            f"`{name}` must return [{axes}], on this batch {wanted}, with the classes that `decode` has; it returned "
            f"{tuple(logits.shape)}. For a single (sigmoid) logit z of shape [..., 1], return [0, z]: "
            "torch.cat([torch.zeros_like(z), z], -1)."
        )


def _validate_sums(
    model: LinearModel, seen: Trace, item_logits: Float[Tensor, "batch item classes"], tolerance: float
) -> None:
    weightings = _weightings(seen)
    decoded = torch.stack([model.decode(seen.encoded, weights) for weights in weightings])
    # In each text only its items count, whatever stands elsewhere.
    real = item_logits.masked_fill(~seen.encoded.items[..., None], 0.0)
    summed = torch.einsum("nbi,bic->nbc", weightings.to(real), real)
    wrong = _worst(decoded, summed, tolerance)
    if wrong is not None:
        number, text, label = wrong
        raise HeedfulError(
            f"`item_logits` does not fit `decode`: for class {label} of text {int(seen.batch.index[text])}, under "
            f"{_described(weightings[number, text], is_own=number == 0)}, `decode` gives "
            f"{decoded[number, text, label].item():.9g} and the sum of attention x item_logits is "
            f"{summed[number, text, label].item():.9g}; they may differ by {tolerance:.1g}. Exact answers need them to "
            "be equal. Correct `item_logits`; or, if what comes after attention is not linear, remove it, and answers "
            "are searched for instead."
        )


def _validate_empty(
    model: LinearModel, seen: Trace, empty_logits: Float[Tensor, "batch classes"], tolerance: float
) -> None:
    try:
        decoded = model.decode(seen.encoded, torch.zeros_like(seen.attention))
    except Exception:  # a head may refuse weights that do not sum to 1, with whatever error
        return
    defined = decoded.isfinite().all(-1, keepdim=True)
    wrong = _worst(decoded.where(defined, 0.0)[None], empty_logits.where(defined, 0.0)[None], tolerance)
    if wrong is not None:
        _, text, label = wrong
        raise HeedfulError(
            f"`empty_logits` does not fit `decode`: for class {label} of text {int(seen.batch.index[text])}, `decode` "
            f"gives {decoded[text, label].item():.9g} where all weights are 0 and `empty_logits` gives "
            f"{empty_logits[text, label].item():.9g}; they may differ by {tolerance:.1g}. Correct `empty_logits`, or "
            "remove it and `item_logits`, and answers are searched for instead of exact."
        )


def _worst(
    decoded: Float[Tensor, "n batch classes"], expected: Float[Tensor, "n batch classes"], tolerance: float
) -> tuple[int, int, int] | None:
    """Where the two differ most, if by more than the tolerance; a NaN differs from everything."""
    off = (decoded - expected).abs().nan_to_num(nan=torch.inf)
    place = int(off.argmax())
    if off.flatten()[place] <= tolerance:
        return None
    pair, label = divmod(place, off.shape[2])
    return *divmod(pair, off.shape[1]), label


def _weightings(seen: Trace) -> Float[Tensor, "n batch item"]:
    """The attention distributions to try: the model's own first, then random ones, all weight on one item, weight on
    two.
    """
    items, own = seen.encoded.items.cpu(), seen.attention.where(seen.encoded.items, 0.0)
    # Other items in every batch, but the same in every audit.
    generator = torch.Generator().manual_seed(int(seen.batch.index.sum()))
    drawn = torch.randn(RANDOM, *items.shape, generator=generator, dtype=torch.float64)
    random = drawn.masked_fill(~items, -torch.inf).softmax(-1)
    order = torch.rand(items.shape, generator=generator).masked_fill(~items, 2.0).argsort(1)
    parts = [random, *_sparse(order, items)]
    return torch.cat([(own / own.sum(1, keepdim=True))[None], *(part.to(own) for part in parts)])


def _sparse(
    order: Int[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> tuple[Float[Tensor, "singles batch item"], Float[Tensor, "pairs batch item"]]:
    """All weight on one item, and weight on two, going through the items of each text in the given order.

    The two are neighbours in the order, then two steps apart, until every pair was met; then again with other shares.
    """
    count = items.sum(1, keepdim=True)
    longest = int(count.max())
    single = torch.arange(min(longest, SINGLES)) % count
    number = torch.arange(max(1, min(len(SHARES) * longest * (longest // 2), PAIRS)))
    pairs = (count * (count // 2)).clamp_min(1)
    again, number = number // pairs, number % pairs
    first, second = number % count, (number % count + 1 + number // count) % count
    share = torch.tensor(SHARES, dtype=torch.float64)[(number + again) % len(SHARES)]
    whole = torch.ones(single.shape, dtype=torch.float64)
    return _spread(order, single, whole), _spread(order, first, share) + _spread(order, second, 1 - share)


def _spread(
    order: Int[Tensor, "batch item"], place: Int[Tensor, "batch n"], share: Float[Tensor, "batch n"]
) -> Float[Tensor, "n batch item"]:
    """That share of the weight on the item at that place of the order."""
    empty = share.new_zeros(place.shape[1], *order.shape)
    return empty.scatter(2, order.gather(1, place).T[..., None], share.T[..., None])


def _described(weights: Float[Tensor, " item"], *, is_own: bool) -> str:
    """What to call an attention in a message."""
    places = weights.nonzero()[:, 0].tolist()
    if len(places) <= 2:
        return " and ".join(f"attention[{place}] = {weights[place].item():.3g}" for place in places)
    return "its own attention" if is_own else f"random attention over {len(places)} items"
