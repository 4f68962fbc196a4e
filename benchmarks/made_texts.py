"""Texts made up for benchmarks: opinion words among filler decide the label; as many and as long as one likes."""

import csv
import random
from pathlib import Path

LABELS = ("no", "yes")
FILLER = [f"filler{number}" for number in range(5_000)]
OPINIONS = [[f"{label}{number}" for number in range(4)] for label in LABELS]


def write_texts(path: Path, count: int, words: int, *, spread: int = 0, seed: int = 0) -> Path:
    """A file of so many texts with about so many words: lengths differ from it by up to `spread`."""
    dice = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        for _ in range(count):
            label = dice.randrange(2)
            length = words + dice.randint(-spread, spread)
            text = dice.choices(FILLER, k=length - 1)
            text.insert(dice.randrange(length), dice.choice(OPINIONS[label]))
            rows.writerow([" ".join(text), LABELS[label]])
    return path
