"""AtteFa, the score of a trained adversary, and what an adversary reaches without explaining anything.

All for two classes, where the total variation distance of two predictions is |p - q|. AtteFa compares how far the
adversary's predictions moved with how far its attention did; yet an adversary may stop predicting, or only rescale,
and the bounds here say what it would then score.
"""

from math import log, nan

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import js_of_single, loss_of_overlap
from heedful.exact.linear_form import normalised_attention

# Predictions this close to the median one, for all but this share of the texts, are the same for every text.
SAME, STRAY = 0.1, 0.01


def attefa(tvd: Float[Tensor, " text"], js: Float[Tensor, " text"]) -> float:
    """How much the prediction had to move for the attention to move as it did, at most 1.

    AtteFa = min(mean TVD / (mean JSD / ln 2), 1): a ratio of means.

    Near 0, the adversary won: the same answers by other attention. NaN where neither moved. Amini and Kosseim
    (section 3.3, equation 7), whose TVD over one output unit is half of ours and is then divided by 0.5.

    Args:
        tvd: of the adversary's prediction from the base model's; for two classes |p - q|.
        js: of its attention from the base model's, in nats.

    >>> attefa(torch.tensor([0.1, 0.3]), torch.tensor([0.6931, 0.3466]))  # 0.2 / 0.75
    0.2666...
    """
    moved, elsewhere = tvd.double().mean().item(), js.double().mean().item() / log(2)
    if elsewhere == 0:
        return 1.0 if moved > 0 else nan
    return min(moved / elsewhere, 1.0)


def js_caps(
    attention: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    tokens: Int[Tensor, "batch item"] | None = None,
) -> Float[Tensor, " batch"]:
    """The largest divergence from each text's attention that any other attention over its items has.

    cap = g(least weight), g(a) = ln 2 + (a ln a - (1 + a) ln(1 + a)) / 2: all weight on the least attended item.

    Below ln 2, and far below for short texts; 0 where there is one item. A token-wise encoder gives equal tokens equal
    attention, so its adversary can at best put all weight on one type of token, evenly: given `tokens`, the cap is the
    largest over types, which is g(least total weight of a type) where the base, too, weighs equal tokens alike.

    Args:
        tokens: for a token-wise adversary only: the numbers that it reads, so all unknown words are one type.

    >>> two, three = torch.tensor([[0.75, 0.25]]), torch.tensor([[0.5, 0.25, 0.25]])
    >>> js_caps(two, two > 0), js_caps(three, three > 0, torch.tensor([[3, 5, 5]]))  # g(1/4), g(1/2)
    (tensor([0.3804], dtype=torch.float64), tensor([0.2158], dtype=torch.float64))
    """
    base = normalised_attention(attention, items)
    if tokens is None:
        return js_of_single(base.where(items, 1.0).amin(-1))
    row = torch.arange(len(tokens), device=tokens.device).unsqueeze(-1).expand_as(tokens)
    kinds, kind = torch.stack([row[items], tokens[items]]).unique(dim=1, return_inverse=True)
    empty = base.new_zeros(kinds.shape[1])
    share = 1 / empty.index_add(0, kind, torch.ones_like(base[items]))
    js = log(2) + empty.index_add(0, kind, loss_of_overlap(base[items], share[kind]))
    return base.new_zeros(len(base)).scatter_reduce(0, kinds[0], js, "amax")


def constant_adversary(probabilities: Float[Tensor, " text"]) -> float:
    """What an adversary that predicts the same for every text pays: its mean TVD from the base model.

    MAD = mean |p - median p|; no other constant pays less.

    About the share of the rarer class where the base is sure of itself, so 0.5 on balanced data. Since attention is
    then free to go anywhere, it is what an adversary falls back on (derived; not in the paper).

    Args:
        probabilities: of class 1, by the base model.

    >>> constant_adversary(torch.tensor([0.0, 0.25, 1.0]))  # (0.25 + 0 + 0.75) / 3
    0.3333...
    """
    return _from_median(probabilities.double()).mean().item()


def constant_bound(probabilities: Float[Tensor, " text"], caps: Float[Tensor, " text"]) -> float:
    """The most that AtteFa can be by the best adversary, if its attention can reach the caps.

    MAD / (mean cap / ln 2), at most 1.

    The best adversary's loss is at most the constant one's, TVD - JSD / ln 2 <= MAD - cap / ln 2 in means, and its JSD
    at most the cap; the ratio is then at most this. So a printed value near it shows that the adversary gave up, not
    that attention is faithful; one above it, that the optimiser fell short (derived; not in the paper).

    >>> constant_bound(torch.tensor([0.0, 1.0]), torch.tensor([0.6931, 0.5545]))  # 0.5 / 0.9
    0.5555...
    """
    return attefa(_from_median(probabilities.double()), caps)


def rescaling_bound(probabilities: Float[Tensor, " text"], caps: Float[Tensor, " text"]) -> float:
    """What AtteFa can be brought to, at most, by an adversary whose logits may grow without limit; at most 1.

    mean min(p, 1 - p) / (mean cap / ln 2), if its attention can reach the caps.

    With any other scores, an adversary that multiplies each item's logit by exp(base's score - own score) has the
    base's logits again, times a positive factor a text. One large factor more makes all of them sure, and every
    decision is the base's; no context is needed. So wherever the base is sure of itself the least AtteFa is about 0,
    faithful or not, and a trained adversary's value is what the optimiser found (derived; not in the paper).

    >>> rescaling_bound(torch.tensor([0.1, 0.7]), torch.tensor([0.6931, 0.5545]))  # 0.2 / 0.9
    0.2222...
    """
    p = probabilities.double()
    return attefa(torch.minimum(p, 1 - p), caps)


def gave_up(probabilities: Float[Tensor, "text classes"]) -> bool:
    """Whether an adversary predicts nearly the same for every text, and so explains nothing.

    The rule: of all but 1 in 100 texts, the TVD from the median prediction (class by class) is at most 0.1.

    It means something only where the base model itself has not: an adversary that follows a base whose predictions all
    lie close together does the same for a good reason. A model that finds a class rarer than 1 in 100 and says the same
    elsewhere counts as having given up.

    >>> gave_up(torch.tensor([[0.48, 0.52], [0.5, 0.5], [0.51, 0.49]])), gave_up(torch.tensor([[0.1, 0.9], [0.9, 0.1]]))
    (True, False)
    """
    p = probabilities.double()
    away = (p - p.median(0).values).abs().sum(-1) / 2
    return (away > SAME).double().mean().item() <= STRAY


def _from_median(p: Float[Tensor, " text"]) -> Float[Tensor, " text"]:
    return (p - p.median()).abs()
