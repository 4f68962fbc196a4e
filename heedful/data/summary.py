"""Summary of a dataset, to look at before training: class balance, lengths, duplicates, what is dropped."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import median
from typing import Any

from heedful.data.labeled_texts import (
    SPLITS,
    Dropped,
    LabeledTexts,
    count_conflicting,
    count_overlaps,
    count_repeated,
    read_dataset,
)
from heedful.settings import DataSettings, TextSettings
from heedful.types import Dataset, Example, Split


@dataclass(frozen=True)
class SplitSummary:
    """One split of a dataset.

    Args:
        labels: how many texts each label has, in the order of the labels.
        words: in a text: half of the texts have no more ("median"), 95% have no more, none has more ("longest").
        repeated: texts that say what an earlier text of the split says.
        also_in: texts that are in an earlier split, too.
    """

    texts: int
    labels: Mapping[str, int]
    words: Mapping[str, float]
    repeated: int
    also_in: Mapping[Split, int]


@dataclass(frozen=True)
class Summary:
    """A dataset as a model would read it.

    Args:
        conflicting: different texts that occur with more than one label.
    """

    dataset: Dataset
    splits: Mapping[Split, SplitSummary]
    conflicting: int
    dropped: tuple[Dropped, ...]

    def as_json(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return {
            "name": self.dataset.name,
            "task": self.dataset.task,
            "fingerprint": self.dataset.fingerprint,
            "labels": list(self.dataset.labels),
            "splits": {name: asdict(split) for name, split in self.splits.items()},
            "texts_with_two_labels": self.conflicting,
            "dropped": [{"count": lost.count, "what": lost.what, "from": lost.where} for lost in self.dropped],
            "notes": list(self.dataset.notes),
        }


def summarize(source: LabeledTexts, data: DataSettings, text: TextSettings) -> Summary:
    """The summary of the texts as the settings read them."""
    dataset, dropped = read_dataset(source, data, text)
    examples: dict[Split, Sequence[Example]] = {split: getattr(dataset, split) for split in SPLITS}
    overlaps = count_overlaps(examples)
    splits: dict[Split, SplitSummary] = {
        split: _summarize_split(
            part, dataset.labels, {first: count for (first, second), count in overlaps.items() if second == split}
        )
        for split, part in examples.items()
    }
    return Summary(dataset, splits, count_conflicting(e for part in examples.values() for e in part), dropped)


def _summarize_split(examples: Sequence[Example], labels: Sequence[str], also_in: Mapping[Split, int]) -> SplitSummary:
    counts = Counter(example.label for example in examples)
    lengths = sorted(len(example.tokens) for example in examples)
    high = lengths[ceil(0.95 * len(lengths)) - 1]
    return SplitSummary(
        texts=len(examples),
        labels={label: counts[number] for number, label in enumerate(labels)},
        words={"median": float(median(lengths)), "95 %": high, "longest": lengths[-1]},
        repeated=count_repeated(examples),
        also_in=also_in,
    )
