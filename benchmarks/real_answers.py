"""Answers on real data: words deleted, replaced and masked; and whether two halves of the texts give the same share.

BiLSTMs with default settings, three seeds each, are trained on four sets (or found in --runs) and audited on 500 test
texts. Printed are the answers by deleting and by replacing words, and for five random splits of the test texts into
halves the 95% interval of the difference of the share of texts in which attention points: Welch's t, a text's value
being its mean over the seeds, which are held fixed. It should contain 0 in at least 17 of 20 comparisons. With a folder
of a Hugging Face classifier of sst2, its answers by deleting, replacing and masking follow. Needs HEEDFUL_DATA.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/real_answers.py [--former] [--classifier FOLDER] [SET ...]
"""

import argparse
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import polars as pl
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from heedful.auditing.audit import Audit
from heedful.jobs.work import ensure_on
from heedful.jobs.work import load_data as load_run_data
from heedful.measures.mean_moments import t_quantile
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.report.loading import audit, load, load_data
from heedful.schema import Verdict
from heedful.settings import AuditSettings, DataSettings, OutcomeSettings, Run
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.verdict.answers import Outcomes, outcomes_of, per_100
from heedful.verdict.pooling import pooled_verdict

SETS = ("sst2", "rotten_tomatoes", "ag_news", "tweeteval_hate")
SEEDS, SPLITS = 3, 5
FORMER = {"network.embedding_start": "normal", "training.patience": 0, "training.chosen_from": 1}
"""Defaults of training before version 2: embeddings from N(0, 1), eight epochs, the best of all."""
ASKED = AuditSettings(tests=("outcome",), shown=0)
OF_CLASSIFIER = AuditSettings(tests=("outcome",), shown=0, examples=150)


def audits_of(source: str, store: Store, *, former: bool) -> list[Audit]:
    """Audits of three seeds, trained if they are not in the store."""
    audits = []
    for seed in range(SEEDS):
        own = Run(data=DataSettings(source=source), seed=seed)
        run, dataset = load_run_data(update_settings(own, FORMER) if former else own)
        audits.append(audit(ensure_on(run, dataset, store)[1], dataset, ASKED))
    return audits


def pooled(audits: Sequence[Audit]) -> Verdict:
    """The verdict on all seeds."""
    return pooled_verdict(
        [each.verdict for each in audits], [each.rows for each in audits], [each.outcomes for each in audits]
    )


def is_same(points: Tensor, first: Tensor, second: Tensor) -> tuple[float, float, float]:
    """The difference of the shares of two halves, with its interval.

    Args:
        points: of each text the mean over seeds, NaN if no small set decides in any.
    """
    halves = [points[half][~points[half].isnan()] for half in (first, second)]
    variances = [half.var().item() / len(half) for half in halves]
    total = sum(variances)
    df = total**2 / sum(own**2 / (len(half) - 1) for own, half in zip(variances, halves, strict=True))
    difference = (halves[0].mean() - halves[1].mean()).item()
    reach = t_quantile(0.025, df) * sqrt(total)
    return difference, difference - reach, difference + reach


def print_halves(console: Console, source: str, outcomes: Outcomes) -> int:
    """How many of the splits give halves with the same share."""
    points, count = outcomes.points.nanmean(0), 0
    for split in range(SPLITS):
        order = torch.randperm(len(points), generator=torch.Generator().manual_seed(split))
        difference, low, high = is_same(points, order[: len(order) // 2], order[len(order) // 2 :])
        count += low <= 0 <= high
        console.print(f"{source}, split {split}: difference of halves {difference:+.3f} ({low:+.3f} to {high:+.3f})")
    return count


def rows_of(name: str, verdict: Verdict, removal: str = "replace") -> list[tuple[str, ...]]:
    """Rows of the table: overall, then each class."""
    answer = verdict.answer
    assert answer is not None
    rows = []
    for each in (answer.overall, *answer.classes):
        other = each.replaced.points if each.replaced else None
        rows.append(
            (
                name,
                each.shares.label or "all",
                each.answer,
                per_100(each.shares.points),
                removal,
                each.replaced_answer or "",
                per_100(other) if other and other.n else "",
                f"{100 * (each.shares.luck or 0.0):.0f}",
            )
        )
    return rows


def passes_of(verdict: Verdict) -> str:
    """Parts of texts that outcomes read, per text, by purpose; one-word texts that several texts share count once."""
    texts, replaced = verdict.passes.get("texts", 1), verdict.passes.get("replaced: texts", 1)
    return ", ".join(
        f"{purpose} {count / (replaced if purpose.startswith('replaced') else texts):.1f}"
        for purpose, count in verdict.passes.items()
        if not purpose.endswith("texts")
    )


def print_table(console: Console, rows: Sequence[Sequence[str]]) -> None:
    """The table in Markdown, as the documentation has it."""
    head = ("model", "class", "answer by delete", "attention points", "other", "answer", "attention points", "luck")
    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]
    console.print("\n".join(lines), markup=False, soft_wrap=True)


def classifier_rows(model: TransformerModel) -> list[tuple[str, ...]]:
    """Answers of a Hugging Face classifier by replacing and by masking words."""
    rows: list[tuple[str, ...]] = []
    for replace_with in ("word", "mask"):
        settings = OF_CLASSIFIER.model_copy(update={"outcome": OutcomeSettings(replace_with=replace_with)})
        verdict = audit(model, load_data("sst2"), settings).verdict
        rows += rows_of("MiniLM, sst2", verdict, "replace" if replace_with == "word" else "mask")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--runs", default="runs", type=Path)
    parser.add_argument("--classifier")
    parser.add_argument("--former", action="store_true", help="train as by default before training version 2")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console, rows, same = Console(width=160), [], 0
    for source in arguments.sets:
        audits = audits_of(source, Store(arguments.runs), former=arguments.former)
        verdict = pooled(audits)
        accuracy = ", ".join(f"{each.verdict.scores.get('accuracy') or 0.0:.3f}" for each in audits)
        console.print(f"{source}: accuracy by seed {accuracy}; {verdict.answer and verdict.answer.headline}")
        console.print(f"passes per text: {passes_of(audits[0].verdict)}")
        rows += rows_of(f"BiLSTM, {source}", verdict)
        tables = [each.outcomes.filter(pl.col("split") == "test") for each in audits]
        same += print_halves(console, source, outcomes_of(tables, verdict.labels))
    if arguments.sets:
        console.print(f"halves give the same share in {same} of {SPLITS * len(arguments.sets)} comparisons")
    if arguments.classifier:
        model = load(arguments.classifier)
        assert isinstance(model, TransformerModel)
        rows += classifier_rows(model)
    print_table(console, rows)


if __name__ == "__main__":
    main()
