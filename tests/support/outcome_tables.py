"""Tables of outcomes made by hand."""

from collections.abc import Mapping, Sequence

import polars as pl

from heedful.schema.table_columns import OUTCOMES


def outcome_table(
    rankings: Mapping[str, Sequence[str]],
    *,
    run: str = "k",
    split: str = "test",
    removal: str = "delete",
    predicted: Sequence[str] | None = None,
    luck: float = 0.1,
    reason: str = "default",
    wrong: int = 0,
    moved: int = 0,
) -> pl.DataFrame:
    """One row per ranking and text.

    Args:
        rankings: outcome of each text, by ranking: points, misses or no_small_set; "one word" for a text without one.
        predicted: class of each text; all "a" if not given.
        wrong: number of texts, the first ones, whose prediction is wrong.
        moved: number of texts, the first ones, whose attention shows moved information.
    """
    rows = []
    for ranking, outcomes in rankings.items():
        for number, outcome in enumerate(outcomes):
            is_judged = outcome != "one word"
            rows.append(
                {
                    **dict.fromkeys(OUTCOMES),
                    "run": run,
                    "split": split,
                    "example": number,
                    "removal": removal,
                    "ranking": ranking,
                    "predicted": predicted[number] if predicted else "a",
                    "is_correct": number >= wrong,
                    "words": 20,
                    "outcome": outcome if is_judged else None,
                    "reason": outcome if not is_judged else reason if outcome == "no_small_set" else None,
                    "luck": luck if is_judged else None,
                    "is_moved": number < moved if is_judged and outcome != "no_small_set" else None,
                    "top_words": [0, 1],
                    "key_words": [0, 1],
                }
            )
    return pl.DataFrame(rows, schema=OUTCOMES)


def texts(points: int, misses: int, undecided: int = 0) -> list[str]:
    """So many texts of each outcome."""
    return ["points"] * points + ["misses"] * misses + ["no_small_set"] * undecided
