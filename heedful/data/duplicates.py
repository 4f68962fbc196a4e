"""Texts that occur twice: in one split, or in two, where a test text was seen in training."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from heedful.types import Example, Split

Content = tuple[tuple[str, ...], tuple[str, ...]]


def content_of(example: Example) -> Content:
    """What the model reads of an example: the tokens of the text and of the query."""
    return example.tokens, example.query


def count_repeated(examples: Sequence[Example]) -> int:
    """How many examples say what an earlier one says.

    >>> count_repeated([Example(("a",), 0), Example(("b",), 0), Example(("a",), 1), Example(("a",), 0)])
    2
    """
    return len(examples) - len(set(map(content_of, examples)))


def count_conflicting(examples: Iterable[Example]) -> int:
    """How many different texts occur with more than one label.

    >>> count_conflicting([Example(("a",), 0), Example(("b",), 0), Example(("a",), 1), Example(("a",), 0)])
    1
    """
    pairs = {(content_of(example), example.label) for example in examples}
    return sum(count > 1 for count in Counter(content for content, _ in pairs).values())


def count_overlaps(examples: Mapping[Split, Sequence[Example]]) -> dict[tuple[Split, Split], int]:
    """For each two splits, how many texts of the second are also in the first.

    >>> count_overlaps({"train": [Example(("a",), 0)], "test": [Example(("a",), 1), Example(("b",), 0)]})
    {('train', 'test'): 1}
    """
    contents = {split: set(map(content_of, part)) for split, part in examples.items()}
    return {
        (first, second): sum(content_of(example) in contents[first] for example in examples[second])
        for first, second in combinations(examples, 2)
    }


def overlap_notes(examples: Mapping[Split, Sequence[Example]]) -> list[str]:
    """A note for each two splits that share texts.

    >>> overlap_notes({"train": [Example(("a",), 0)], "test": [Example(("a",), 1), Example(("b",), 0)]})
    ['1 of the 2 texts of test are also in train: scores on test may be too good']
    """
    return [
        f"{count:,} of the {len(examples[second]):,} texts of {second} are also in {first}"
        f"{f': scores on {second} may be too good' if first == 'train' else ''}"
        for (first, second), count in count_overlaps(examples).items()
        if count
    ]
