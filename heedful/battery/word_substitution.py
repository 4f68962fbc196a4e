"""Is attention stable where a word is replaced by a similar one?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch.nn.utils.rnn import pad_sequence

from heedful.attribution.items import items_are_tokens
from heedful.battery.evidence import Context, Evidence, undefined_where
from heedful.battery.question import BatteryTest, Question, of_100
from heedful.battery.stability_measures import (
    NEARLY_UNIFORM,
    against_shuffled,
    answer_moves,
    moves,
    relative_to_shuffled,
    suffixes,
)
from heedful.data.synonyms import wordnet_synonyms
from heedful.data.tokenizer import SPECIAL
from heedful.data.word_vectors import nearest_rows
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.settings import Count
from heedful.types import Batch, Findings, Model

Synonyms = Mapping[int, Sequence[int]]
"""For each token that may be replaced, the tokens that may stand in its place."""

EmbeddingTable = Float[Tensor, "token embed"]


def word_substitution(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    counts: Annotated[tuple[Count, ...], Field(min_length=1)] = (1,),
    synonyms: Literal["neighbours", "wordnet"] = "neighbours",
) -> Findings:
    """How far attention and prediction move when words, drawn at random, give way to similar ones.

    A word gives way to the one whose embedding, in the model's own table, makes the smallest angle with its own: among
    all words, or among its synonyms. `js`, `tvd`, `flips`, `overlap` (see `moves`) for the
    first count, `js_2` ... for further ones; and `shuffled_js`, what shuffled attention would be at, in exact
    expectation. NaN in texts with fewer words that can be replaced, and for a model that has no `nn.Embedding` named
    `embedding`. Of items: attention for the first count and, where items are words, the token in the place of each
    that was replaced.

    Hu et al. (2023, section 5.2, their K and N), who look for neighbours in fastText's vectors.

    Args:
        counts: how many words are replaced (the verdict speaks of the first); of two counts, the words of the smaller
            are among those of the larger.
        synonyms: similar words are those of the nearest embedding, or the nearest of WordNet's, under HEEDFUL_DATA.
    """
    model, batch = evidence.model, evidence.trace.batch
    table = embedding_table(model)
    if table is None:
        changed = [(batch, torch.zeros_like(batch.labels, dtype=torch.bool))] * len(counts)
    else:
        known = evidence.context.once(_wordnet) if synonyms == "wordnet" else None
        changed = _replaced(batch, table, _first_word(model), known, counts, generator)
    values = {"shuffled_js": evidence.shuffled_js}
    read = [trace(model, other) for other, _ in changed]
    for suffix, seen, (_, done) in zip(suffixes(counts), read, changed, strict=True):
        moved = moves(evidence, seen)
        values |= {f"{name}{suffix}": value.where(done.cpu(), torch.nan) for name, value in moved.items()}
    shown = {"replaced_attention": read[0].attention.where(changed[0][1][:, None], torch.nan).cpu()}
    if items_are_tokens(evidence.trace):
        new = changed[0][0].tokens
        shown["replacement"] = new.double().where(new != batch.tokens, torch.nan).cpu()
    return Findings(undefined_where(evidence.count < 2, values), items=shown)


def embedding_table(model: Model) -> EmbeddingTable | None:
    """The vectors of all tokens, where the model keeps them as models of ours do."""
    embedding = getattr(model, "embedding", None)
    return embedding.weight.detach() if isinstance(embedding, nn.Embedding) else None


def similar_words(
    table: EmbeddingTable, tokens: Int[Tensor, " some"], synonyms: Synonyms | None = None, first: int = 0
) -> Int[Tensor, " some"]:
    """The token most like each of these: by the angle of their vectors, among its synonyms or among all words.

    Args:
        first: the lowest number of a token that is a word.

    >>> table = torch.tensor([[0.0, 1.0], [0.6, 0.8], [0.0, -1.0], [1.0, 0.0]])
    >>> similar_words(table, torch.tensor([0, 3])), similar_words(table, torch.tensor([0]), {0: [2, 3]})
    (tensor([1, 1]), tensor([3]))
    """
    if synonyms is None:
        # Which neighbour is the nearest needs no double precision, and single takes half the time.
        _, near = nearest_rows(table[first:].float(), tokens - first, 1)
        return near[:, 0] + first
    choices = [torch.tensor(synonyms[token], device=table.device) for token in tokens.tolist()]
    padded = pad_sequence(choices, batch_first=True, padding_value=-1) if choices else tokens[:, None]
    cosines = cosine_similarity(table[tokens][:, None], table[padded.clamp_min(0)], dim=-1)
    best = cosines.masked_fill(padded < 0, -torch.inf).argmax(1, keepdim=True)
    return padded.gather(1, best)[:, 0]


def _wordnet(context: Context) -> Synonyms:
    if not context.vocabulary:
        raise SettingError(
            "synonyms='wordnet' needs a run of ours, whose words are known; of a model of your own only the numbers "
            "are. Use synonyms='neighbours'."
        )
    return wordnet_synonyms(context.vocabulary)


def _first_word(model: Model) -> int:
    return len(SPECIAL) if isinstance(model, AttentionModel) else 0


def _replaced(
    batch: Batch,
    table: EmbeddingTable,
    first: int,
    synonyms: Synonyms | None,
    counts: Sequence[int],
    generator: torch.Generator,
) -> list[tuple[Batch, Bool[Tensor, " batch"]]]:
    """The batch with so many words of each text replaced, and the texts in which there were as many to replace."""
    known = batch.attendable & _replaceable(batch.tokens, table, first, synonyms)
    luck = torch.rand(known.shape, generator=generator).to(known.device).masked_fill(~known, -1.0)
    turn = luck.argsort(dim=1, descending=True, stable=True).argsort(1)
    some = known & (turn < max(counts))
    similar = batch.tokens.masked_scatter(some, similar_words(table, batch.tokens[some], synonyms, first))
    return [(replace(batch, tokens=similar.where(known & (turn < n), batch.tokens)), known.sum(1) >= n) for n in counts]


def _replaceable(
    tokens: Int[Tensor, "batch time"], table: EmbeddingTable, first: int, synonyms: Synonyms | None
) -> Bool[Tensor, "batch time"]:
    """Which of the tokens are words that have a vector and, where synonyms are given, one of them."""
    known = (table[tokens] != 0).any(-1) & (tokens >= first)
    if synonyms is None:
        return known
    listed = torch.tensor([token for token, others in synonyms.items() if others], dtype=torch.long)
    return known & torch.isin(tokens, listed.to(tokens.device))


TEST = BatteryTest(
    word_substitution,
    (
        Question(
            name="word_substitution",
            group="stability",
            wording=lambda item: "Is it stable? (other words of the same meaning)",
            needs=("word_substitution",),
            measured=against_shuffled("word_substitution"),
            best_kind="ceiling",
            material=NEARLY_UNIFORM,
            sentence=lambda answer: (
                "Putting a similar word in the place of another moves attention "
                f"{relative_to_shuffled(answer)}, and changes "
                f"{of_100(answer.details['answers change'])} answers."
            ),
            details=answer_moves("word_substitution"),
        ),
    ),
)
