"""A study, done: its runs and audits, those that are missing by a cluster, and what they found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from distributed import Client

from heedful.report import AuditFiles, read_audit
from heedful.runs.grid import Planned, named
from heedful.runs.store import Store
from heedful.runs.sweep import Report, sweep
from heedful.runs.worker import Inspection
from heedful.settings import Run, key_of
from heedful.studies.study import Cell, Results, Wanted
from heedful.training.methods import METHODS
from heedful.verdict.scoring import columns_of


@dataclass(frozen=True)
class Prepared:
    """The runs and audits that a study needs, by key, and which of them make up each cell."""

    runs: Mapping[str, Run]
    audits: Mapping[str, Inspection]
    cells: Mapping[tuple[str, str], Sequence[tuple[str, str | None]]]
    """For each cell the key of each run, and of its audit."""


def prepare_study(wanted: Sequence[Wanted]) -> Prepared:
    """Read the data that the study needs, and name all that must be done."""
    # All at once, so that each data set is read once.
    ready = named(
        [
            *(Planned(one.run, one.base) for one in wanted),
            *(run for one in wanted for run in one.seeds),
            *(Planned(run, one.run) for one in wanted for run in one.adversaries),
        ]
    )
    runs = {key_of(one.base): one.base for one in ready if one.base is not None}
    runs |= {key_of(one.run): one.run for one in ready}
    own, others = ready[: len(wanted)], iter(key_of(one.run) for one in ready[len(wanted) :])
    seeds = [tuple(next(others) for _ in one.seeds) for one in wanted]
    adversaries = [tuple(next(others) for _ in one.adversaries) for one in wanted]
    audits: dict[str, Inspection] = {}
    cells: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for one, planned, beside, against in zip(wanted, own, seeds, adversaries, strict=True):
        key, data = key_of(planned.run), planned.run.data.fingerprint
        asked = one.audit and Inspection(run=key, data=data, settings=one.audit, seeds=beside, adversaries=against)
        audits |= {asked.key: asked} if asked else {}
        cells.setdefault((one.data, one.model), []).append((key, asked.key if asked else None))
    return Prepared(runs, audits, cells)


def do_study(
    prepared: Prepared,
    store: Store,
    folder: Path,
    client: Client,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> dict[str, str]:
    """Do whatever is missing of the study's runs and audits; why some failed, by key."""
    return sweep(prepared.runs, store, client, audits=prepared.audits, folder=folder, device=device, report=report)


def gather(scale: str, prepared: Prepared, store: Store, folder: Path, errors: Mapping[str, str]) -> Results:
    """What the runs and audits of a study found; a cell whose runs all failed is left out."""
    cells: dict[tuple[str, str], Cell] = {}
    for (data, model), keys in prepared.cells.items():
        done = [(key, asked) for key, asked in keys if prepared.runs[key] in store]
        audits = [read_audit(folder / asked) for _, asked in done if asked and (folder / asked).is_dir()]
        if not done:
            continue
        columns = columns_of([one.rows for one in audits]) if audits else {}
        seconds = sum((one.verdict.seconds or 0.0 for one in audits), 0.0)
        tokens = tuple(store.tokens(key) for key, _ in done if prepared.runs[key].training.record_flow)
        history = tuple(store.history(key) for key, _ in done if _follows(prepared.runs[key]))
        shown = shown_words(audits[0]) if audits else pl.DataFrame()
        others = dict.fromkeys(key for _, asked in done if asked for key in prepared.audits[asked].needs[1:])
        beside = tuple(store.read(key) for key in others if prepared.runs[key] in store)
        runs = tuple(store.read(key) for key, _ in done)
        cells[data, model] = Cell(data, model, runs, columns, beside, seconds, tokens, history, shown)
    return Results(scale, cells, dict(errors))


def shown_words(audit: AuditFiles) -> pl.DataFrame:
    """The texts that an audit shows, a line a word and measure: example, item, word, replaced, measure, value.

    `replaced` is the word that stood there when similar words took the place of some.
    """
    texts = audit.examples.with_columns(replaced=pl.coalesce("replaced", "items"))
    words = texts.select(
        "example", pl.int_ranges(pl.col("items").list.len()).alias("item"), pl.col("items").alias("word"), "replaced"
    ).explode("item", "word", "replaced")
    items = audit.rows.filter(pl.col("item").is_not_null()).select("example", "item", "measure", "value")
    return items.join(words.with_columns(pl.col("item").cast(pl.Int32)), on=["example", "item"], how="left")


def _follows(run: Run) -> bool:
    return METHODS[run.training.method].logs is not None


def text_frame(results: Results, columns: Mapping[str, str], model: str | None = None) -> pl.DataFrame:
    """data, model, class (as predicted), and the asked columns under their new names: one line a text and seed."""
    parts = []
    for cell in results.having(*columns, model=model):
        predicted = cell.columns.get("prediction.predicted")
        values = {new: cell.columns[name].flatten().numpy() for name, new in columns.items()}
        named_class = [] if predicted is None else [f"class {int(one)}" for one in predicted.flatten()]
        length = len(next(iter(values.values())))
        parts.append(
            pl.DataFrame(values).with_columns(
                pl.lit(cell.data).alias("data"),
                pl.lit(cell.model).alias("model"),
                pl.Series("class", named_class or ["all"] * length),
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()
