"""Rankings that know nothing of the model: the first words, the longest, the rarest."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import item_of_token
from heedful.battery.evidence import Context, Evidence, Weights
from heedful.data.tokenizer import SPECIAL


def baseline_scores(evidence: Evidence) -> dict[str, Weights]:
    """Scores of each item by its position (`first`), its length (`longest`) and how seldom its words are (`rarest`).

    The length is in characters, that of a word outside the vocabulary being the mean of the text's others; how seldom,
    in the texts that words were counted on. A sentence is as long as its words together, and as rare as its rarest. NaN
    where words, or their counts, are not known.
    """
    lengths, counts = (evidence.context.once(table).to(torch.float64) for table in (_lengths, _counts))
    positions = torch.arange(evidence.items.shape[1], dtype=torch.float64).expand(evidence.items.shape)
    if evidence.context.item_words is not None:
        # Words of several tokens have numbers of their own.
        numbers = evidence.context.item_words.numbers(evidence.trace.batch).cpu()
        longest = _with_mean(_looked_up(lengths, numbers), evidence.items)
        rarest = -_looked_up(counts, numbers)
        return {"first": -positions, "longest": longest, "rarest": rarest.masked_fill(~evidence.items, 0.0)}
    tokens = evidence.trace.batch.tokens.cpu()
    return {
        "first": -positions,
        "longest": _by_item(evidence, _filled(_looked_up(lengths, tokens), evidence), "sum"),
        "rarest": -_by_item(evidence, _looked_up(counts, tokens), "amin"),
    }


def _lengths(context: Context) -> Float[Tensor, " token"]:
    """The characters of each word of the vocabulary; NaN for symbols."""
    sizes = [torch.nan if word in SPECIAL else float(len(word)) for word in context.vocabulary]
    return torch.tensor(sizes, dtype=torch.float64)


def _counts(context: Context) -> Float[Tensor, " token"]:
    """How often each token occurs."""
    return context.token_counts().sum(1).double()


def _looked_up(table: Float[Tensor, " token"], tokens: Tensor) -> Float[Tensor, "batch time"]:
    """The entry of each token; NaN for tokens beyond the table."""
    if not len(table):
        return torch.full(tokens.shape, torch.nan, dtype=torch.float64)
    known = (tokens >= 0) & (tokens < len(table))
    return table[tokens.clamp(0, len(table) - 1)].where(known, torch.nan)


def _filled(values: Float[Tensor, "batch time"], evidence: Evidence) -> Float[Tensor, "batch time"]:
    """The same with the mean of the text's known words in place of what is not known."""
    return _with_mean(values, evidence.trace.batch.attendable.cpu())


def _with_mean(values: Float[Tensor, "batch place"], real: Bool[Tensor, "batch place"]) -> Float[Tensor, "batch place"]:
    mean = values.where(real, torch.nan).nanmean(1, keepdim=True)
    return torch.where(values.isnan(), mean, values)


def _by_item(evidence: Evidence, values: Float[Tensor, "batch time"], reduce: str) -> Weights:
    """The sum, or the smallest, of the tokens of each item; NaN in texts where no value is known."""
    owner = item_of_token(evidence.trace).cpu()
    belongs = (owner >= 0) & evidence.trace.batch.attendable.cpu()
    width = evidence.items.shape[1]
    known = values.nan_to_num(0.0)
    start = torch.zeros(len(values), width + 1, dtype=torch.float64)
    index = owner.where(belongs, width)
    reduced = start.scatter_reduce(1, index, known, reduce, include_self=False)[:, :-1]
    unknown = (values.isnan() & belongs).any(1, keepdim=True)
    return reduced.masked_fill(unknown & evidence.items, torch.nan)
