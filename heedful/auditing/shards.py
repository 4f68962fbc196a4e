"""What the tests found in a shard of the texts, and in all shards together."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl
import torch

from heedful.data.sampling import seeded_generator
from heedful.schema import Substitution
from heedful.schema.table_columns import OUTCOMES, ROWS


@dataclass(frozen=True)
class ShardInfo:
    """What a shard reports in addition to its rows.

    Args:
        substitutions: the words that were replaced by synonyms in any text, the most frequent first.
        synonym_sources: where the synonyms come from, as sentences.
        skipped: why, for each question that could not be asked.
        texts: how many it has.
        seconds: how long it took.
        ranking_seconds: time that the scores of each ranking took.
        passes: texts and parts of texts that outcomes read, by purpose.
    """

    substitutions: tuple[Substitution, ...] = ()
    synonym_sources: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    texts: int = 0
    seconds: float = 0.0
    ranking_seconds: Mapping[str, float] = field(default_factory=dict)
    passes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Shard:
    """What the tests of the battery found in some texts.

    Args:
        examples: the texts that are shown word by word.
        outcomes: outcome of each text, ranking and way of removing words.
        adversaries: rows of trained adversaries, without those that need the texts of all shards.
        predictions: predictions of the model and of each adversary, from which the missing rows are made.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    outcomes: pl.DataFrame
    facts: ShardInfo = field(default_factory=ShardInfo)
    adversaries: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ROWS))
    predictions: pl.DataFrame = field(default_factory=pl.DataFrame)


def join_facts(facts: Iterable[ShardInfo]) -> ShardInfo:
    """What the shards say together."""
    known = list(facts)
    pairs: Counter[tuple[str, str]] = Counter()
    ranking_seconds: Counter[str] = Counter()
    passes: Counter[str] = Counter()
    for each in known:
        pairs.update({(own.word, own.replacement): own.texts for own in each.substitutions})
        ranking_seconds.update(each.ranking_seconds)
        passes.update(each.passes)
    return ShardInfo(
        substitutions_of(pairs),
        tuple(dict.fromkeys(source for each in known for source in each.synonym_sources)),
        {name: reason for each in known for name, reason in each.skipped.items()},
        sum(each.texts for each in known),
        sum(each.seconds for each in known),
        dict(ranking_seconds),
        dict(passes),
    )


def sorted_examples(examples: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The shown texts of several shards by their numbers."""
    return pl.concat(list(examples)).sort("example")


def sorted_outcomes(outcomes: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The outcomes of several shards by the numbers of their texts."""
    return pl.concat([pl.DataFrame(schema=OUTCOMES), *outcomes]).sort("example", maintain_order=True)


def substitutions_of(pairs: Mapping[tuple[str, str], int]) -> tuple[Substitution, ...]:
    """The pairs of words by the number of texts, then alphabetically."""
    ordered = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Substitution(word=word, replacement=other, texts=count) for (word, other), count in ordered)


def shard_generator(seed: int, stream: str, shard: int) -> torch.Generator:
    """A stream of its own for each test and shard: leaving a test out, or doing shards apart, changes no number."""
    return seeded_generator("audit", seed, stream, *([f"shard {shard}"] if shard else []))
