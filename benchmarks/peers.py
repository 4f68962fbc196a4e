"""Heedful beside others, in one run: captum, the authors' algorithms written plainly, interpreto and ferret.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/peers.py [--write docs/performance.md] [--python PYTHON ...]

One thread, processor time, in turns. Recurrent models have random weights, embedding 300 and 128 units; the transformer
is a BERT of six layers of 384, random too, unless `--classifier` names a folder. Interpreto and ferret run in
environments of their own: make one (`python -m venv`), install torch as Heedful has it and the library, and name its
Python by `--python`, once for each. What does not install, or does not run, is said in the table. `--write` makes the
page of the documentation from what was measured.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from peer_row import HEADINGS, Row
from recurrent_peers import author_rows, captum_rows
from rich.console import Console
from rich.table import Table
from transformer_peers import made_up_classifier, transformer_rows

HERE = str(Path(__file__).resolve().parent)
SECTIONS = {
    "captum": "Beside captum: a BiLSTM, the same model and precision",
    "authors": "Beside the authors' algorithms, written plainly",
    "transformers": "Hugging Face classifiers",
}
RATIO = (
    "The ratio is theirs divided by ours: above 1, Heedful takes less time. Where a library does something else by the "
    "same name (replaces words where we delete them, gives a value where we give a value, its floor and the best), the "
    "ratio compares what a user waits for, not the same numbers."
)
console = Console(highlight=False, width=160)


def about() -> list[str]:
    """Machine, threads and versions."""
    return [
        f"Machine: {processor()}, {os.cpu_count()} cores; one thread is used. Processor time, in turns, in one run.",
        f"Versions: Python {platform.python_version()}, "
        + ", ".join(f"{name} {installed(name)}" for name in ("heedful", "torch", "captum", "transformers", "numpy"))
        + ".",
    ]


def processor() -> str:
    """What the processor is called."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def installed(name: str) -> str:
    """The version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def page(rows: Sequence[Row], sections: Sequence[str]) -> str:
    """The page of the documentation."""
    named = "" if len(sections) == len(SECTIONS) else "".join(f" {section}" for section in sections)
    command = f"python benchmarks/peers.py{named} --write docs/performance.md"
    lines = ["# How fast, beside others", "", f"Made by `{command}` on {date.today().isoformat()}.", ""]
    lines += [*about(), "", RATIO, ""]
    left_out = [title for section, title in SECTIONS.items() if section not in sections]
    lines += [f"Not measured in this run: {'; '.join(left_out)}.", ""] if left_out else []
    for section, title in SECTIONS.items():
        own = [row for row in rows if row.section == section]
        if own:
            lines += [f"## {title}", "", "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
            lines += ["| " + " | ".join(row.cells()) + " |" for row in own]
            lines.append("")
    lines += ["How time and memory grow with texts, words and classes: `python benchmarks/growth.py --out FOLDER`. The"]
    lines += ["battery in training epochs, test by test: `python benchmarks/audit.py`.", ""]
    return "\n".join(lines)


def measure(sections: Sequence[str], classifier: str | None, pythons: list[str]) -> list[Row]:
    """All comparisons of these sections, printed as they come."""
    rows: list[Row] = []
    if "captum" in sections:
        rows += captum_rows()
    if "authors" in sections:
        rows += author_rows()
    if "transformers" in sections:
        sys.path.remove(HERE)  # where another `transformers` stands
        with tempfile.TemporaryDirectory() as folder:
            rows += transformer_rows(classifier or made_up_classifier(folder), pythons)
    return rows


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description="Heedful beside others, in one run.")
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--write", type=Path, help="the page to make")
    parser.add_argument("--classifier", help="folder of a Hugging Face classifier")
    parser.add_argument("--python", action="append", default=[], help="of an environment with interpreto or ferret")
    chosen = parser.parse_args()
    if unknown := set(chosen.sections) - set(SECTIONS):
        parser.error(f"sections must be of {', '.join(SECTIONS)}; unknown: {', '.join(sorted(unknown))}")
    rows = measure(chosen.sections, chosen.classifier, chosen.python)
    for section, title in SECTIONS.items():
        table = Table(*HEADINGS, title=title)
        for row in rows:
            if row.section == section:
                table.add_row(*row.cells())
        if table.row_count:
            console.print(table)
    console.print(*about(), sep="\n")
    if chosen.write:
        chosen.write.write_text(page(rows, chosen.sections))
        console.print(f"Written: {chosen.write.name}")


if __name__ == "__main__":
    main()
