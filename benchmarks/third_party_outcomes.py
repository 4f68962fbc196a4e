"""Outcomes of other people's models and rankings: a row of the third-party table, from two published tables.

Edin et al. (2024, arXiv:2408.08137; repository JoakimEdin/naopc) published the logits of public BERTs for every subset
of the words of 339 Yelp sentences, and the scores of nine attribution methods. So chance, key words and luck are exact,
and no model is run. Words are masked there, not deleted. The two sentences of one word are left out.

    python benchmarks/third_party_outcomes.py OUTPUTS SCORES

OUTPUTS is a file like results/permutation_outputs/yelp_bert-base-uncased-SST-2.parquet of that repository, SCORES the
one of the same model in results/feature_attribution_scores, here yelp_short_bert-base-uncased-SST-2.parquet.

It prints the row, and then how near random sets and the search get to exact chance and key words. Texts with at most
ten sets of k words are enumerated even then, so the texts with more are shown apart.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float
from numpy import ndarray
from rich.console import Console
from rich.table import Table

from heedful.measures.outcome import JudgedText, ReadSets, Sets, TextToJudge, judge_texts
from heedful.settings import OutcomeSettings

PUBLISHED = {
    "attention": "attention",
    "attention x gradient": "attingrad",
    "gradient x input": "gradient_x_input",
    "DeepLIFT": "deeplift",
    "integrated gradients": "integrated_gradient",
    "LIME": "lime",
    "Kernel SHAP": "kernelshap",
    "occlusion": "occlusion_1",
    "DecompX": "decompx",
}
OURS = {"leave-one-out, signed": "leave_one_out", "alone": "alone", "effect": "effect"}
EXACT = OutcomeSettings(all_sets=1000)
AIMS = {1.0: 0.95, 2.0: 0.98}
"""Share of the way from chance to the best that the search reaches, by new sets per word."""
DRAWS = 10

Tables = Mapping[int, Float[ndarray, "subset classes"]]
"""Class probabilities of each text, by the words left: bit i of the index is set if word i is."""


def read_outputs(path: str) -> Tables:
    """Class probabilities of every subset; `word_key` lists the words that were masked, counted from 1."""
    tables = {}
    for (text,), rows in pl.read_parquet(path).group_by(["id"], maintain_order=True):
        masked = [sum(1 << int(word) - 1 for word in key.strip("[]").split(",") if word) for key in rows["word_key"]]
        logits = np.empty((len(rows), 2))
        # Every subset is masked once: the last index, with all words, is that of the whole text.
        logits[len(rows) - 1 - np.array(masked)] = rows["negative_logit", "positive_logit"].to_numpy()
        p = np.exp(logits - logits.max(1, keepdims=True))
        tables[text] = p / p.sum(1, keepdims=True)
    return tables


def read_scores(path: str) -> dict[int, dict[str, Float[ndarray, " item"]]]:
    """Scores of the words of each text by method, as ranks; the first and the last are of the two symbols."""
    scores: dict[int, dict[str, Float[ndarray, " item"]]] = {}
    for text, method, values in (
        pl.read_parquet(path).select("id", "explanation_method", "word_attributions").iter_rows()
    ):
        scores.setdefault(text, {})[method] = ranked(values[1:-1])
    return scores


def ranked(scores: Sequence[float]) -> Float[ndarray, " item"]:
    """The largest number for the word that comes first: ties by position, undefined scores last.

    >>> ranked([0.1, float("nan"), 0.3, 0.3]).tolist()
    [-2.0, -3.0, 0.0, -1.0]
    """
    first = np.argsort(-np.nan_to_num(np.array(scores, dtype=float), nan=-np.inf), kind="stable")
    return -np.argsort(first).astype(float)


def reader(tables: Tables) -> ReadSets:
    """Looks sets of words up."""

    def look_up(text: int, sets: Sets) -> Float[ndarray, "set classes"]:
        return tables[text][sets @ (1 << np.arange(sets.shape[1]))]

    return lambda requests: {text: look_up(text, sets) for text, sets in requests.items()}


def texts_to_judge(tables: Tables, scores: Mapping[int, Mapping[str, ndarray]]) -> dict[int, TextToJudge]:
    """All texts of two words or more."""
    texts = {}
    for text, p in tables.items():
        if len(p) > 2:
            given = {name: scores[text][method] for name, method in PUBLISHED.items()}
            texts[text] = TextToJudge(p[-1], given, (text,), empty=p[0, p[-1].argmax()])
    return texts


def row(judged: Mapping[int, JudgedText]) -> str:
    """Texts, in how many a small set decides, luck, and the share of texts in which each ranking points."""
    decided = [text for text in judged.values() if text.reason is None]
    luck = np.mean([text.luck for text in decided])
    names = (*PUBLISHED, *OURS.values())
    shares = [np.mean([text.outcomes[name] == "points" for text in decided]) for name in names]
    printed = (f"{share:.3f}".removeprefix("0") for share in (luck, *shares))
    return f"| {len(judged)} | {len(decided)} | " + " | ".join(printed) + " |"


def accuracy(
    texts: Mapping[int, TextToJudge], read: ReadSets, exact: Mapping[int, JudgedText], settings: OutcomeSettings
) -> Float[ndarray, "draw group figure"]:
    """Of each draw, over all texts and over those that were searched.

    The figures: share of the way from chance to the exact best, error of chance (root mean square), and share of texts
    in which attention has the exact outcome.
    """
    figures = []
    for draw in range(DRAWS):
        drawn = {number: replace(text, seed=(draw, number)) for number, text in texts.items()}
        judged = judge_texts(drawn, read, settings)
        pairs = [(judged[number], exact[number]) for number in exact]
        searched = [(quick, full) for quick, full in pairs if not quick.is_exact]
        figures.append([_compared(pairs, settings.decisive), _compared(searched, settings.decisive)])
    return np.array(figures)


def _compared(pairs: Sequence[tuple[JudgedText, JudgedText]], decisive: float) -> tuple[float, float, float]:
    gaps = [(quick, full) for quick, full in pairs if full.best - full.chance >= decisive]
    way = np.mean([(quick.best - full.chance) / (full.best - full.chance) for quick, full in gaps])
    error = np.sqrt(np.mean([(quick.chance - full.chance) ** 2 for quick, full in pairs]))
    same = np.mean([quick.outcomes["attention"] == full.outcomes["attention"] for quick, full in pairs])
    return float(way), float(error), float(same)


def main(outputs: str, attributions: str) -> None:
    console = Console(highlight=False, soft_wrap=True)
    tables = read_outputs(outputs)
    texts, read = texts_to_judge(tables, read_scores(attributions)), reader(tables)
    exact = judge_texts(texts, read, EXACT)
    assert all(text.is_exact for text in exact.values())
    console.print("| texts | a small set decides | luck | " + " | ".join((*PUBLISHED, *OURS)) + " |")
    console.print("|---" * (3 + len(PUBLISHED) + len(OURS)) + "|")
    console.print(row(exact))
    headings = ("texts", "swaps", "way to best", "error of chance", "same outcome", "lowest of a draw")
    table = Table(*headings, title=f"without enumeration, mean of {DRAWS} draws")
    for swaps in AIMS:
        figures = accuracy(texts, read, exact, OutcomeSettings(all_sets=0, swaps=swaps))
        for group, by_draw in zip(("all", "more than ten sets"), figures.swapaxes(0, 1), strict=True):
            (way, error, same), lowest = by_draw.mean(0), by_draw[:, 2].min()
            table.add_row(group, f"{swaps:g} n", f"{way:.1%}", f"{error:.3f}", f"{same:.1%}", f"{lowest:.1%}")
    aims = " and ".join(f"{way:.0%} with {swaps:g} n swaps" for swaps, way in AIMS.items())
    console.print(table, f"aims: {aims}; error of chance at most .04; same outcome in at least 93%")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("give two paths: python benchmarks/third_party_outcomes.py OUTPUTS SCORES")
    main(*sys.argv[1:])
