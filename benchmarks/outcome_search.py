"""The search for key words against ten times its budget, on test texts of BiLSTMs trained with default settings.

All searches start from the same sets, so chance is the same. The columns: tokens per text; texts whose sets are too
many to enumerate; new sets allowed per word; share of the way from chance to the best of the largest search, mean and
least, over texts in which that best is at least 0.15 above chance; share of texts in which attention has the same
outcome; passes per text. A search ends early if no swap of one word is better. Needs HEEDFUL_DATA.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/outcome_search.py [sst2] [imdb_small]
"""

import sys
from collections import Counter

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from heedful.attribution import logits_of_parts
from heedful.attribution.gradient_x_input import gradient_x_input
from heedful.attribution.reuse.variants import variant_reader
from heedful.auditing.subject import float64_eval_copy
from heedful.battery import Context, Evidence
from heedful.data.batching import collate, encode_split
from heedful.measures.outcome import JudgedText, ReadSets, TextToJudge, judge_texts
from heedful.models.trace import trace
from heedful.runs.store import Store
from heedful.runs.worker import ensure_on, load_data
from heedful.settings import DataSettings, Run
from heedful.settings.answer import OutcomeSettings
from heedful.types import Model, Trace

TEXTS = {"sst2": 100, "imdb_small": 30}
BUDGETS = (1, 2, 10)
AIM = 0.95
BATCH = 10


def texts_to_judge(evidence: Evidence) -> dict[int, TextToJudge]:
    """The texts of a batch, by row; those of one word are left out."""
    scores = {
        "attention": evidence.attention_ranks,
        "gradient_x_input": gradient_x_input(evidence.model, evidence.trace),
        "attention_x_gradient": evidence.attention * evidence.weight_gradient,
    }
    index = evidence.trace.batch.index.tolist()
    return {
        row: TextToJudge(
            whole=evidence.probabilities[row].numpy(),
            scores={name: values[row, items].double().numpy() for name, values in scores.items()},
            seed=(index[row],),
        )
        for row, items in enumerate(evidence.items)
        if items.sum() > 1
    }


def reader(model: Model, seen: Trace) -> ReadSets:
    """Reads sets of words of the texts of a batch, given by row."""
    places = [row.nonzero()[0] for row in seen.encoded.items.numpy()]
    variants = variant_reader(model, seen)

    def read(requests):
        keep = np.zeros((len(places), max(map(len, requests.values())), seen.encoded.items.shape[1]), dtype=bool)
        for row, sets in requests.items():
            keep[row, : len(sets)][:, places[row]] = sets
        p = logits_of_parts(model, seen, torch.from_numpy(keep), reader=variants).softmax(-1).numpy()
        return {row: p[row, : len(sets)] for row, sets in requests.items()}

    return read


def searched(source: str) -> tuple[dict[int, list[JudgedText]], float]:
    """Texts after a search with each budget, drawn at random; and their mean length."""
    run, dataset = load_data(Run(data=DataSettings(source=source)))
    _, trained, _ = ensure_on(run, dataset, Store("runs"))
    model, split = float64_eval_copy(trained.model), encode_split(dataset.test, trained.words)
    drawn = np.random.default_rng(0).permutation(len(dataset.test))[: TEXTS[source]]
    drawn = sorted(drawn.tolist(), key=lambda text: split.lengths[text])
    found: dict[int, list[JudgedText]] = {budget: [] for budget in BUDGETS}
    for start in range(0, len(drawn), BATCH):
        with torch.no_grad():
            seen = trace(model, collate(split, drawn[start : start + BATCH]))
        texts = texts_to_judge(Evidence(model, seen, Context(), torch.Generator().manual_seed(0)))
        read = reader(model, seen)
        for budget, judged in found.items():
            outcomes = judge_texts(texts, read, OutcomeSettings(swaps=budget))
            judged += [outcomes[row] for row in sorted(outcomes)]
    return found, float(np.mean([split.lengths[text] for text in drawn]))


def main(sources: list[str]) -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    table = Table("data", "texts", "tokens", "searched", "swaps", "way", "least", "same", "sets")
    for source in sources:
        found, length = searched(source)
        most = found[BUDGETS[-1]]
        for budget, judged in found.items():
            pairs = list(zip(judged, most, strict=True))
            gaps = [(few, many) for few, many in pairs if many.best - many.chance >= 0.15]
            ways = [(few.best - few.chance) / (many.best - many.chance) for few, many in gaps]
            same = np.mean([few.outcomes["attention"] == many.outcomes["attention"] for few, many in pairs])
            sets = sum((Counter(text.sets) for text in judged), Counter()).total() / len(judged)
            table.add_row(
                *(source, str(len(judged)), f"{length:.0f}", str(sum(not text.is_exact for text in judged))),
                *(f"{budget} n", f"{np.mean(ways):.1%}", f"{min(ways):.1%}", f"{same:.1%}", f"{sets:.0f}"),
            )
    console.print(table, f"aim: {AIM:.0%} of the way with 1 n swaps")


if __name__ == "__main__":
    main(sys.argv[1:] or list(TEXTS))
