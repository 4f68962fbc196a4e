"""The same weights elsewhere: shuffled, in the worst order, and uniform."""

import torch

from heedful.battery.evidence import affordable
from heedful.errors import DataError
from heedful.exact import draw_permutations
from heedful.exact import worst_permutation as worst_order
from heedful.explaining.counterfactuals import other_attention as other_attentions
from heedful.explaining.counterfactuals import under
from heedful.measures import total_variation_distance
from heedful.server.actions.action import (
    JAIN_WALLACE,
    WIEGREFFE_PINTER,
    answer_with,
    button,
    check_several,
    is_of_one_head,
)
from heedful.server.contract import ActionResult, ActOptions
from heedful.subjects.read_text import Reader, ReadText

# Adversarial attention.


@button(
    "Adversarial attention, same prediction",
    "How different can attention be while the prediction stays the same?",
    JAIN_WALLACE,
)
def other_attention(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """As in `heedful explain`: exact for two classes and a linear head, otherwise the best proven or found."""
    check_several(read)
    other = other_attentions(read.evidence, read.evidence.context.labels)[0]
    if other is None:
        raise DataError("no different attention with the same prediction was found for this text.")
    weights = read.weights(other.weights)
    before = (
        f"Different weights reach {100 * other.share:.0f}% of the maximum divergence and keep the prediction "
        f"within {other.eps:g}:"
    )
    return answer_with(
        other_attention,
        read,
        weights,
        under(read.evidence, weights),
        solver=other.solver,
        before=before,
        after="" if other.solver == "exact" else "More different attention might exist.",
        is_settable=is_of_one_head(read),
    )


TRIED = 100
"""Permutations that are tried if the head is not linear."""


@button(
    "Shuffle the weights",
    "Does it matter which words get the weight?",
    JAIN_WALLACE,
    ("seed",),
)
def shuffle(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Permute the weights at random, by the seed."""
    check_several(read)
    generator = torch.Generator().manual_seed(options.seed)
    permutation = draw_permutations(read.evidence.items, generator, 1)
    return answer_with(
        shuffle,
        read,
        read.evidence.attention.gather(1, permutation[:, 0]),
        read.evidence.decode_permuted(permutation)[:, 0],
        before="With the same weights on other items:",
        is_settable=is_of_one_head(read),
    )


@button(
    "Worst permutation",
    "How far can the same weights on other words move the prediction?",
    f"{JAIN_WALLACE}, who draw 100 at random",
)
def worst_permutation(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """The permutation that moves the prediction furthest: exact for two classes, otherwise the worst that was found."""
    check_several(read)
    evidence = read.evidence
    sentence = "The worst permutation of the weights:"
    if evidence.item_logits is not None:
        worst = worst_order(evidence.attention, evidence.item_logits, evidence.items)
        solver, attention, logits = worst.solver, worst.attention, evidence.decode(worst.attention)
    else:
        orders = draw_permutations(evidence.items, torch.Generator().manual_seed(0), affordable(evidence, TRIED))
        tried = read.evidence.decode_permuted(orders)
        predictions = tried.softmax(-1)
        moved = total_variation_distance(predictions, evidence.probabilities[:, None].expand_as(predictions))
        place = int(moved[0].argmax())
        solver, attention, logits = "search", evidence.attention.gather(1, orders[:, place]), tried[:, place]
    if solver != "exact":
        sentence = "The worst permutation that was found; a worse one might exist:"
    return answer_with(
        worst_permutation,
        read,
        attention,
        logits,
        solver=solver,
        before=sentence,
        is_settable=is_of_one_head(read),
    )


@button(
    "Uniform weights",
    "Is attention needed at all? The same weight on every word.",
    f"{WIEGREFFE_PINTER}, who retrain the model",
)
def uniform(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """The same weight on every item."""
    evidence = read.evidence
    weights = (evidence.items / evidence.count[:, None]).to(evidence.attention)
    return answer_with(uniform, read, weights, evidence.decode(weights), before="With the same weight on every item:")
