"""The Stanford Sentiment Treebank as Jain and Wallace keep it: one tree a line, a sentiment of 0 to 4 at each node."""

import re
from collections.abc import Mapping
from pathlib import Path

from heedful.data.fetching.recipe import Recipe, Row, Splits, github

_SOURCE = ("successar/AttentionExplanation", "425a89a49a8b3bffc3f5e8338287e2ecd0cf1fa2")
_LEAF = re.compile(r"\(([0-4]) ([^()]+)\)")
NEUTRAL = "2"


def read(files: Mapping[str, Path]) -> Splits:
    """Sentences that are not neutral as a whole; with the sentiment of each token."""
    return {
        split: [row for line in files[split].read_text(encoding="utf-8").splitlines() if (row := read_tree(line))]
        for split in ("train", "dev", "test")
    }


def read_tree(line: str) -> Row | None:
    """The sentence of a tree and its binary label; None where it is neutral.

    >>> read_tree("(3 (2 It) (3 (2 's) (4 good)))")
    {'text': "It 's good", 'label': 1, 'fine_label': 3, 'token_sentiment': [2, 2, 4]}
    """
    if not line.strip() or line[1] == NEUTRAL:
        return None
    # A token has no space in it, so of the three that have one ("8 1/2") the first part is taken.
    leaves = [(sentiment, words.split()[0]) for sentiment, words in _LEAF.findall(line)]
    words = (word.replace("-LRB-", "(").replace("-RRB-", ")").replace("\\", "") for _, word in leaves)
    return {
        "text": " ".join(words),
        "label": int(line[1] > NEUTRAL),
        "fine_label": int(line[1]),
        "token_sentiment": [int(sentiment) for sentiment, _ in leaves],
    }


RECIPES = {
    "sst2": Recipe(
        title="Stanford Sentiment Treebank, binary",
        task="binary sentence sentiment",
        files={split: github(*_SOURCE, f"preprocess/SST/{split}.txt") for split in ("train", "dev", "test")},
        read=read,
        labels=("negative", "positive"),
    )
}
