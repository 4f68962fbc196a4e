"""Polarity and attention score of every token of the vocabulary: on its own, and averaged over the texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.items import items_are_tokens
from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import END, SPECIAL, START
from heedful.errors import SettingError
from heedful.measures import auroc_per_item
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, LinearModel, Trace

# Which label a token indicates, from its counts in the training texts.

NEUTRAL, OTHER = -1, -2
"""Classes of a token that indicates no label: NEUTRAL if it occurs evenly under all of them, OTHER if undecided."""


def token_counts(split: EncodedSplit, vocabulary: int, classes: int) -> Int[Tensor, "token classes"]:
    """How often each token occurs in the texts of each label; 0 for special symbols, which are not words.

    Occurrences are counted, not texts. Queries are not counted.

    >>> split = EncodedSplit((torch.tensor([4, 5, 4]), torch.tensor([5])), (), (), torch.tensor([0, 1]), framed=False)
    >>> token_counts(split, 6, 2)[4:]
    tensor([[2, 0],
            [1, 1]])
    """
    labels = split.labels.repeat_interleave(torch.tensor(split.lengths))
    counts = _counts(torch.cat(split.texts), labels, vocabulary, classes)
    counts[: len(SPECIAL)] = 0
    return counts


def counts_of_batches(batches: Sequence[Batch], classes: int) -> Int[Tensor, "token classes"]:
    """As `token_counts`, for texts that are batched already: every token counts where `attendable_mask` is True.

    No number is special: what is no word, a user's own batches say by `attendable_mask`.
    """
    tokens = torch.cat([batch.tokens[batch.attendable_mask].cpu() for batch in batches])
    labels = torch.cat([batch.labels.repeat_interleave(batch.attendable_mask.sum(1)).cpu() for batch in batches])
    return _counts(tokens, labels, 1 + max(int(batch.tokens.max()) for batch in batches), classes)


def _counts(
    tokens: Int[Tensor, " occurrence"], labels: Int[Tensor, " occurrence"], vocabulary: int, classes: int
) -> Int[Tensor, "token classes"]:
    is_labeled = labels >= 0
    pairs = tokens[is_labeled] * classes + labels[is_labeled]
    counts = pairs.bincount(minlength=vocabulary * classes).unflatten(0, (vocabulary, classes))
    # A text without a label counts under every one: its words indicate none.
    return counts + tokens[~is_labeled].bincount(minlength=vocabulary)[:, None]


THREE_LABELS: dict[str, Any] = {"share": 0.68, "least": 26}
"""On 20 News II they give 49, 280, 165 and 170 words, where Sun and Lu have 49, 268, 192 and 164; others come near."""


def token_classes(
    counts: Int[Tensor, "token classes"],
    *,
    rule: Literal["code", "paper"] = "code",
    share: float = 0.75,
    least: int = 5,
) -> Int[Tensor, " token"]:
    """The label that each token indicates, or NEUTRAL, or OTHER.

    A token indicates label k if more than `share` of its f occurrences are under k, f_k > share x f, and f_k > least.
    It is neutral if each of its K shares is within .05 of uniform, |f_k / f - 1 / K| < .05, and its largest and
    smallest f_k differ by less than 5.

    For two labels and gamma = (f+ - f-) / f that is gamma > .5 and f+ > 5 (positive), gamma < -.5 and f- > 5
    (negative), |gamma| < .1 and |f+ - f-| < 5 (neutral): Sun and Lu (2020, section 5, equation 28), whose code
    counts 412, 265 and 1384 of them in SST. For more labels the paper gives no numbers (footnote 9); we apply the same
    rule. Its counts for three labels (supplement, Table 1) are met best by THREE_LABELS, found by search.

    Args:
        rule: the paper writes open intervals, (.5, 1) and (-1, -.5), which exclude a token that occurs under one label
            only; its code has no such bound, and its counts agree with the code.
        share: below one half, a token could indicate two labels.

    >>> token_classes(torch.tensor([[1, 7], [0, 6], [3, 9], [10, 10], [4, 5]])).tolist()
    [1, 1, -2, -1, -2]
    >>> token_classes(torch.tensor([[1, 7], [0, 6]]), rule="paper").tolist()
    [1, -2]
    """
    if not 0.5 <= share < 1:
        raise SettingError(f"share must be at least 0.5 and below 1, so that no token has two labels; it was {share}.")
    labels = counts.shape[1]
    total = counts.sum(1)
    most, label = counts.max(1)
    indicates = (most > share * total.double()) & (most > least)
    if rule == "paper":
        indicates &= most < total
    # In integers, so that a share of exactly .55 compares the same from both sides.
    even = (20 * (labels * counts - total[:, None]).abs() < labels * total[:, None]).all(1)
    neutral = even & (most - counts.amin(1) < 5)
    return label.where(indicates, torch.where(neutral, NEUTRAL, OTHER))


CHUNK = 1024
"""Tokens scored at once."""


@dataclass(frozen=True)
class TokenScores:
    """The two scores of each token type, in float64.

    Args:
        polarity: the token's contribution to the logits, s_e = W . h_e: one number for two labels, one per label for
            more.
        attention: its attention score a_e, as softmax takes it: divided by lambda, which is `scale` in dot attention
            (equation 1) and the temperature in additive attention (supplementary material, equation 65).
    """

    polarity: Float[Tensor, "token *classes"]
    attention: Float[Tensor, " token"]


def item_polarity(model: LinearModel, encoded: Encoded) -> Float[Tensor, "batch item *classes"]:
    """The contribution of each item to the logits, without the bias: W . h.

    For two labels one number, the logit of label 1 minus that of label 0; for more one logit per label. Sun and Lu
    (2020, equation 7).
    """
    logits = model.item_logits(encoded) - model.empty_logits(encoded)[:, None]
    return logits[..., 1] - logits[..., 0] if logits.shape[-1] == 2 else logits


@torch.no_grad()
def global_scores(
    model: LinearModel, vocabulary: int, *, framed: bool = False, device: torch.device | None = None
) -> TokenScores:
    """The scores of every token as the only word of a text.

    With a token-wise encoder these are its scores in every text. Sun and Lu (2020, supplementary material) show them
    next to the local ones for their LSTM. The model must be in evaluation mode.

    Args:
        framed: put the token between a start and an end symbol, if the model's texts have them.
    """
    parts = []
    for tokens in torch.arange(vocabulary, device=device).split(CHUNK):
        seen = trace(model, _one_token_texts(tokens, framed))
        items = seen.encoded.items
        parts.append((item_polarity(model, seen.encoded)[items], _scores(model, seen)[items]))
    polarity, attention = (torch.cat(part).double() for part in zip(*parts, strict=True))
    return TokenScores(polarity, attention)


@torch.no_grad()
def local_scores(model: LinearModel, batches: Iterable[Batch], vocabulary: int) -> TokenScores:
    """The mean score of every token over its occurrences in the texts; NaN for a token that never occurs.

    Sun and Lu (2020, supplementary material). Only attendable_mask positions count as occurrences. The model must be in
    evaluation mode.
    """
    sums = reduce(torch.add, (_sums(model, batch, vocabulary) for batch in batches))
    polarity, attention, count = sums[:, :-2], sums[:, -2], sums[:, -1]
    means = polarity / count[:, None]
    return TokenScores(means[:, 0] if means.shape[1] == 1 else means, attention / count)


def _sums(model: LinearModel, batch: Batch, vocabulary: int) -> Float[Tensor, "token columns"]:
    """Sums over the occurrences of each token: polarity (one or more columns), attention score, and 1 (the count)."""
    seen = trace(model, batch)
    if not items_are_tokens(seen):
        raise SettingError("local scores are of tokens; this model attends to sentences. Take its global scores.")
    items = seen.encoded.items
    polarity, scores = item_polarity(model, seen.encoded)[items], _scores(model, seen)[items]
    columns = torch.column_stack([polarity, scores, torch.ones_like(scores)]).double()
    return columns.new_zeros(vocabulary, columns.shape[1]).index_add(0, batch.tokens[items], columns)


def _scores(model: LinearModel, seen: Trace) -> Float[Tensor, "batch item"]:
    return seen.scores / getattr(model, "temperature", 1.0)


def _one_token_texts(tokens: Int[Tensor, " token"], framed: bool) -> Batch:
    """Each token as a text of its own."""
    texts = tokens[:, None]
    if framed:
        texts = torch.cat([torch.full_like(texts, START), texts, torch.full_like(texts, END)], 1)
    mask = torch.ones_like(texts, dtype=torch.bool)
    attendable_mask = mask.clone()
    if framed:
        attendable_mask[:, [0, 2]] = False
    labels = torch.zeros_like(tokens)  # never read
    return Batch(tokens, texts, mask, attendable_mask, labels, sentence=torch.zeros_like(texts))


# The words of a vocabulary ranked by attention score, and how well that score separates polar from neutral words.

SHOWN = 12
"""Words listed at each end of the ranking."""

FEWEST = 20
"""Label-indicative words below which nothing is reported of how attention treats them."""

MIN_COUNT = 5
"""Occurrences that a word needs to be listed: rarer words are hardly trained."""


@dataclass(frozen=True)
class Word:
    """A word, the label it indicates ("neutral", or "" if it is neither), and its attention score."""

    word: str
    speaks_for: str
    score: float


@dataclass(frozen=True)
class AttendedWords:
    """How attention treats the words of a vocabulary.

    Polar is Sun and Lu's (2020) term for label-indicative words: those that occur mostly under one label.

    Args:
        auroc: the probability that a polar word has a larger attention score than a neutral one; NaN where there are
            fewer than 20 polar words.
        polar, neutral: how many words of each kind occur in the texts.
        most, least: the words with the largest scores, from the top, and with the smallest, from the bottom.
    """

    auroc: float
    polar: int
    neutral: int
    most: tuple[Word, ...]
    least: tuple[Word, ...]


def attended_words(
    model: LinearModel,
    batches: Iterable[Batch],
    counts: Int[Tensor, "token classes"],
    words: Sequence[str],
    labels: Sequence[str],
) -> AttendedWords:
    """The words ranked by mean attention score over the texts; words that do not occur there are left out.

    The model must be in evaluation mode.

    Args:
        counts: how often each token occurs under each label, in the training texts where these are at hand.
        words: the word of each token number; if empty, words are named by their numbers.
    """
    return rank_words(local_scores(model, batches, len(counts)), counts, words, labels)


def rank_words(
    scores: TokenScores, counts: Int[Tensor, "token classes"], words: Sequence[str], labels: Sequence[str]
) -> AttendedWords:
    """As `attended_words`, from precomputed scores; a token whose score is NaN is left out.

    >>> import torch
    >>> scores = TokenScores(torch.zeros(7), torch.tensor([0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 2.0]))
    >>> counts = torch.tensor([[0, 0], [0, 0], [0, 0], [0, 0], [0, 9], [5, 5], [9, 1]])
    >>> ranking = rank_words(scores, counts, (), ("bad", "good"))
    >>> ranking.auroc, ranking.most[0]  # too few words to say how attention treats them
    (nan, Word(word='token 4', speaks_for='good', score=3.0))
    """
    attention, classes = scores.attention.cpu(), token_classes(counts)
    is_scored = attention.isfinite()
    polar, neutral = (classes >= 0) & is_scored, (classes == NEUTRAL) & is_scored
    listed = (is_scored & (counts.sum(1) >= MIN_COUNT)).nonzero()[:, 0]
    order = listed[attention[listed].argsort(descending=True, stable=True)].tolist()
    class_names = [*labels, "", "neutral"]  # indexed by class number: -1 is neutral, -2 is neither

    def entry(token: int) -> Word:
        word = words[token] if words else f"token {token}"
        return Word(word, class_names[int(classes[token])], attention[token].item())

    return AttendedWords(
        auroc=auroc_per_item(attention, neutral)[polar].mean().item() if polar.sum() >= FEWEST else nan,
        polar=int(polar.sum()),
        neutral=int(neutral.sum()),
        most=tuple(entry(token) for token in order[:SHOWN]),
        least=tuple(entry(token) for token in order[::-1][:SHOWN]),
    )
