"""How time and memory of every test grow with texts, words, classes and workers: printed with exponents, and drawn.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/growth.py [texts] [words] [classes] [workers] [--out FOLDER] [--largest N]

Random BiLSTM models and random texts of one length; one thread, processor time, the better of two rounds (of one,
where that takes a second). Memory is the most that the process held during the test above what it held before (Linux
alone tells). The exponent is the slope of a straight line through the points, both axes logarithmic: 1 is linear.
Workers are those of `heedful audit --workers` on a made-up data set, by the clock on the wall; left out where that
command knows no such option. `--out` also draws `time.svg`, `time.png`, `memory.svg` and `memory.png`; `--largest 2000`
adds longer texts.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import altair as alt
import polars as pl
import torch
from rich.console import Console
from rich.table import Table
from timing import SHARED, seconds, test_names

from heedful.battery import BATTERY, Context, Evidence
from heedful.battery.word_substitution import Replacements, known_replacements
from heedful.data.synonyms import Synonym, Synonyms
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch

VOCABULARY, BATCH = 1000, 32
QUICK, LONGEST = 1.0, 4.0
"""Seconds below which a test is run twice, and above which it is not run at larger sizes."""
TEXTS, WORDS, CLASSES = 16, 25, 2
"""Of each, how many there are while another grows."""
SIZES: dict[str, tuple[int, ...]] = {
    "texts": (8, 16, 32, 64),
    "words": (25, 50, 100, 200),
    "classes": (2, 3, 5, 8),
    "workers": (1, 2),
}
PAGES = Path("/proc/self")
console = Console(highlight=False, width=120)


@dataclass(frozen=True)
class Point:
    """One measurement: seconds (of processor time; workers: on the wall) and megabytes, NaN where nobody tells."""

    axis: str
    size: int
    test: str
    seconds: float
    megabytes: float


def made_up(texts: int, words: int, classes: int) -> tuple[AttentionModel, list[Batch], Context]:
    """A random model, random texts of one length with marks, and synonyms for all words."""
    torch.manual_seed(0)
    model = build_model(NetworkSettings(embed_size=100, hidden_size=64), VOCABULARY, classes).double().eval()
    batches = []
    for start in range(0, texts, BATCH):
        mask = torch.ones(min(BATCH, texts - start), words, dtype=torch.bool)
        tokens, labels = torch.randint(4, VOCABULARY, mask.shape), torch.randint(0, classes, mask.shape[:1])
        marks = (torch.rand(len(mask), 1, words) < 0.2).float()
        batches.append(Batch(start + torch.arange(len(mask)), tokens, mask, mask, labels, marks=marks))
    names = tuple(f"w{number}" for number in range(VOCABULARY))
    counts = torch.randint(0, 20, (VOCABULARY, classes))
    context = Context(labels=tuple(map(str, range(classes))), vocabulary=names, token_counts=lambda: counts)
    pairs = {name: Synonym(other, 1.0) for name, other in zip(names, names[::-1], strict=True) if name != other}
    found = (Replacements.of(names, Synonyms(pairs, "Made up.")), "Made up.")
    context.computed[known_replacements, "both", "", None] = found
    return model, batches, context


def points_of(axis: str, sizes: Sequence[int]) -> Iterator[Point]:
    """Every test, and what several share, at each size; those that took too long at one are left out at larger ones."""
    slow: set[str] = set()
    for size in sizes:
        model, batches, context = made_up(**{"texts": TEXTS, "words": WORDS, "classes": CLASSES, axis: size})
        with torch.no_grad():
            traces = [trace(model, batch) for batch in batches]
        for name in (*SHARED, *test_names(deep=True)):
            if name in slow:
                continue
            rounds = [once(model, traces, context, name)]
            if rounds[0][0] < QUICK:
                rounds.append(once(model, traces, context, name))
            taken = min(each for each, _ in rounds)
            slow |= {name} if taken > LONGEST else set()
            yield Point(axis, size, name, taken, max(each for _, each in rounds))


def once(model: AttentionModel, traces: list, context: Context, name: str) -> tuple[float, float]:
    """Seconds and megabytes of one test, or of what several share, on new evidence that has what it needs."""
    evidences = [Evidence(model, each, context) for each in traces]
    if name not in SHARED:
        for evidence in evidences:
            for shared in SHARED.values():
                getattr(evidence, shared)
    generator = torch.Generator().manual_seed(0)

    def work() -> None:
        for evidence in evidences:
            getattr(evidence, SHARED[name]) if name in SHARED else BATTERY[name].function(evidence, generator)

    before = forget_peak()
    with torch.no_grad():
        taken = seconds(work)
    return taken, max(0.0, held("VmHWM") - before)


def forget_peak() -> float:
    """Give freed memory back and start to watch for a new peak; what the process holds now, in megabytes."""
    if not (PAGES / "clear_refs").exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    (PAGES / "clear_refs").write_text("5")
    return held("VmRSS")


def held(what: str) -> float:
    """What the process holds (VmRSS) or has held at most (VmHWM), in megabytes."""
    if not (PAGES / "status").exists():
        return float("nan")
    lines = (PAGES / "status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))


def worker_points(sizes: Sequence[int]) -> Iterator[Point]:
    """A whole audit by so many workers, a second or more of work, each in a folder of its own."""
    help_text = subprocess.run(
        [sys.executable, "-m", "heedful", "audit", "--help"], capture_output=True, text=True, env=None, check=True
    ).stdout
    if "--workers" not in help_text:
        console.print("workers: not measured, as `heedful audit` has no option --workers in this version.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        audit = [sys.executable, "-m", "heedful", "audit", "mock-1", "--encoder", "bilstm", "--quiet"]
        # The first call trains; only audits are timed, each anew.
        subprocess.run([*audit, "--tests", "uniform", "--out", "first"], cwd=folder, capture_output=True, check=True)
        for size in sizes:
            began = time.perf_counter()
            command = [*audit, "--workers", str(size), "--audits", f"audits-{size}", "--out", f"report-{size}"]
            subprocess.run(command, cwd=folder, capture_output=True, check=True)
            yield Point("workers", size, "whole audit", time.perf_counter() - began, float("nan"))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms; NaN where there is nothing to fit.

    >>> round(exponent([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    pairs = [(log(size), log(value)) for size, value in zip(sizes, values, strict=True) if value > 0]
    if len(pairs) < 2:
        return float("nan")
    x, y = (sum(part) / len(pairs) for part in zip(*pairs, strict=True))
    spread = sum((one - x) ** 2 for one, _ in pairs)
    return sum((one - x) * (two - y) for one, two in pairs) / spread if spread else float("nan")


def print_axis(axis: str, points: Sequence[Point]) -> None:
    """Milliseconds and megabytes of each test by size, and the exponents."""
    sizes = sorted({point.size for point in points})
    per = "in all" if axis == "workers" else "for all texts"
    table = Table("test", *(f"{size} {axis}" for size in sizes), "time ~", *(f"MB {size}" for size in sizes), "MB ~")
    table.title = f"{axis}: milliseconds {per}, megabytes at the peak, and exponents"
    for test in dict.fromkeys(point.test for point in points):
        own = sorted((point for point in points if point.test == test), key=lambda point: point.size)
        at, times, held_most = zip(*((point.size, point.seconds, point.megabytes) for point in own), strict=True)
        blank = [""] * (len(sizes) - len(own))
        shown = [f"{1e3 * each:.1f}" for each in times], [f"{each:.0f}" for each in held_most]
        # What is below a few pages says nothing.
        grown = exponent(at, held_most) if min(held_most) >= 1 else float("nan")
        table.add_row(test, *shown[0], *blank, f"{exponent(at, times):.2f}", *shown[1], *blank, f"{grown:.2f}")
    console.print(table)


def draw(points: Sequence[Point], folder: Path) -> None:
    """Time and memory by size, a panel an axis, a line a test, both axes logarithmic."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame([vars(point) for point in points])
    for name, column, title in (("time", "seconds", "seconds"), ("memory", "megabytes", "megabytes at the peak")):
        defined = frame.filter(pl.col(column).is_finite() & (pl.col(column) > 0))
        panels = [
            alt.Chart(defined.filter(pl.col("axis") == axis), title=axis)
            .mark_line(point=True)
            .encode(
                x=alt.X("size:Q", scale=alt.Scale(type="log"), title=axis, axis=alt.Axis(grid=False)),
                y=alt.Y(f"{column}:Q", scale=alt.Scale(type="log"), title=title),
                color=alt.Color("test:N", title=None, scale=alt.Scale(scheme="tableau20")),
                detail="test:N",
            )
            .properties(width=260, height=320)
            for axis in defined["axis"].unique(maintain_order=True)
        ]
        if panels:
            chart = alt.hconcat(*panels).resolve_scale(y="shared")
            for ending in ("svg", "png"):
                chart.save(folder / f"{name}.{ending}")
    console.print(f"Drawn in {folder}: time and memory, as SVG and PNG.")


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description="How time and memory of every test grow.")
    parser.add_argument("axes", nargs="*", default=list(SIZES), help=f"of {', '.join(SIZES)}")
    parser.add_argument("--out", type=Path, help="folder for the drawings")
    parser.add_argument("--largest", type=int, default=SIZES["words"][-1], help="words of the longest texts")
    chosen = parser.parse_args()
    if unknown := set(chosen.axes) - set(SIZES):
        parser.error(f"axes must be of {', '.join(SIZES)}; unknown: {', '.join(sorted(unknown))}")
    sizes = {**SIZES, "words": words_up_to(chosen.largest)}
    list(points_of("texts", (2,)))  # warms up
    points: list[Point] = []
    for axis in chosen.axes:
        found = list(worker_points(sizes[axis]) if axis == "workers" else points_of(axis, sizes[axis]))
        if found:
            print_axis(axis, found)
        points += found
    if chosen.out:
        draw(points, chosen.out)


def words_up_to(largest: int) -> tuple[int, ...]:
    """Lengths that double, and the largest.

    >>> words_up_to(200), words_up_to(500)
    ((25, 50, 100, 200), (25, 50, 100, 200, 400, 500))
    """
    lengths = [WORDS]
    while 2 * lengths[-1] <= largest:
        lengths.append(2 * lengths[-1])
    return (*lengths, largest) if lengths[-1] < largest else tuple(lengths)


if __name__ == "__main__":
    main()
