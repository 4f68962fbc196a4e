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

from heedful.auditing.outcomes import Judge
from heedful.battery import Evidence
from heedful.jobs.work import ensure_on, load_data
from heedful.measures.outcome import JudgedText
from heedful.settings import AuditSettings, DataSettings, Run
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.subject import float64_eval_copy

TEXTS = {"sst2": 100, "imdb_small": 30}
BUDGETS = (1, 2, 10)
AIM = 0.95


def searched(source: str) -> tuple[dict[int, list[JudgedText]], float]:
    """Texts after a search with each budget, drawn at random; and their mean length."""
    run, dataset = load_data(Run(data=DataSettings(source=source)))
    _, trained, _ = ensure_on(run, dataset, Store("runs"))
    settings = AuditSettings(examples=TEXTS[source])
    subject = FinishedRun(trained).texts(dataset, settings)
    model = float64_eval_copy(subject.model)
    found: dict[int, list[JudgedText]] = {budget: [] for budget in BUDGETS}
    lengths: list[float] = []
    for batch in subject.batches():
        with torch.no_grad():
            evidence = Evidence(model, subject.trace(model, batch), subject.context)
        lengths += evidence.count.tolist()
        for budget, judged in found.items():
            judge = Judge(subject, update_settings(settings, {"outcome.swaps": float(budget)}), replaced=())
            outcomes, _ = judge.judge(evidence)
            judged += [outcomes[row] for row in sorted(outcomes)]
    return found, float(np.mean(lengths))


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
