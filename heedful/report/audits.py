"""An audit's files, read and checked. They can be untrusted: nothing in them is executed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import polars as pl

from heedful.errors import SettingError, StoreError
from heedful.schema import Reason, Verdict, updated
from heedful.schema.table_columns import EXAMPLES, NULLABLE, OPTIONAL, OUTCOMES, ROWS, UNCOUNTED
from heedful.settings.validation import flatten_settings
from heedful.store.folders import find_damage, reason
from heedful.store.store import audit_refusal, audits_of_run, read_verdict_file

# What the reader calls an audited model: by the settings that tell it from the others.

UNNAMED = ("fingerprint", "vectors_fingerprint", "encoder_fingerprint", "reference")
"""Settings that name a run to a machine, not to a reader."""
SPEAKING = ("encoder", "attention", "method", "source")
"""Settings whose value says enough without their name, in the order in which they are named."""


def shown_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Each setting by its dotted name, as the reader would write it.

    >>> shown_settings({"network": {"encoder": "cnn", "kernels": [1, 3]}, "seed": 0, "vectors": None})
    {'network.encoder': 'cnn', 'network.kernels': '1, 3', 'seed': '0', 'vectors': 'none'}
    """
    return {name: _shown(value) for name, value in flatten_settings(settings).items()}


def short_name(settings: Mapping[str, Any], otherwise: str) -> str:
    """The run's encoder, and its seed unless that is 0; or the other name if there is no encoder.

    >>> short_name({"run": {"network": {"encoder": "cnn"}, "seed": 2}}, "4f1c")
    'cnn, seed 2'
    """
    run = settings.get("run")
    flat = {_last(key): value for key, value in shown_settings(run if isinstance(run, dict) else {}).items()}
    if "encoder" not in flat:
        return printable(otherwise)
    seed = flat.get("seed", "0")
    return printable(flat["encoder"] if seed == "0" else f"{flat['encoder']}, seed {seed}")


def distinct_names(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names; repeated ones with the settings in which the runs differ, or else with a number.

    >>> distinct_names(["cnn", "cnn"], [{"method": "seat"}, {"method": "vanilla"}])
    ('cnn, seat', 'cnn, vanilla')
    >>> distinct_names(["cnn", "cnn"], [{}, {}])
    ('cnn (1)', 'cnn (2)')
    """
    flat = [shown_settings(each) for each in settings]
    distinct = [
        ", ".join([name, *_differences(flat, at)]) if names.count(name) > 1 else name for at, name in enumerate(names)
    ]
    return tuple(f"{name} ({at})" if distinct.count(name) > 1 else name for at, name in enumerate(distinct, start=1))


def printable(name: str) -> str:
    """The name without control characters, which no drawing can hold."""
    return "".join(character if character.isprintable() else " " for character in name)


def _differences(flat: Sequence[dict[str, str]], at: int) -> list[str]:
    """At most three settings in which this run differs from some other, the speaking ones first."""
    differs = [
        key
        for key, value in flat[at].items()
        if _last(key) not in UNNAMED and any(other.get(key) != value for other in flat)
    ]
    ordered = sorted(differs, key=lambda key: SPEAKING.index(_last(key)) if _last(key) in SPEAKING else len(SPEAKING))
    shown = (flat[at][key] if _last(key) in SPEAKING else f"{_last(key)} {flat[at][key]}" for key in ordered[:3])
    return [printable(name) for name in shown]


def _last(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == {} else str(value)


SAMPLE_SEED = 0
"""Which texts are kept where not all are."""
Columns = Mapping[str, Any]
"""Name and polars type of each column; not `pl.Schema`, which beartype cannot check."""


@dataclass(frozen=True)
class AuditFiles:
    """One audit: a table of rows, the texts they speak of, and the verdict.

    Args:
        name: what the reader calls the model.
        outcomes: one row per run, text, ranking and way of removing words, dev texts included; empty if the answer was
            skipped.
        stored: all rows, on disk, if `rows` are those of some texts; None if they are all.
        folders: where it was read from; several if several audits were pooled.
    """

    rows: pl.DataFrame
    examples: pl.DataFrame
    verdict: Verdict
    name: str
    outcomes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=OUTCOMES))
    stored: pl.LazyFrame | None = None
    folders: tuple[Path, ...] = ()


def read_audit(folder: str | Path, name: str = "", *, most: int | None = None) -> AuditFiles:
    """The files of an audit folder, checked against what the report needs of them.

    Args:
        name: what the reader calls the model; empty: its encoder and seed, or else its key.
        most: texts whose rows are kept in memory: the shown ones, and others at random; None: all.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise StoreError(
            f"{folder} must be the folder of an audit; there is no such folder. Run `heedful audit` first."
        )
    with _refused(folder):
        return _read(folder, name, most)


def audited_model(folder: Path, run: str) -> AuditFiles | None:
    """The newest audit of that run, of several seeds if there is one; None if it was not audited.

    One that has an answer comes before others of a few tests.
    """
    known = list(audits_of_run(folder, run))
    answered = [place for place, verdict in known if verdict.answer is not None]
    place = next(iter([*answered, *(place for place, _ in known)]), None)
    return None if place is None else read_audit(place)


def by_training(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of each seed, in order."""
    return rows.partition_by("run", maintain_order=True)


@contextmanager
def _refused(folder: Path) -> Iterator[None]:
    """Let an error say which folder to delete and how to audit again."""
    try:
        yield
    except StoreError as error:
        raise audit_refusal(folder, str(error)) from error


def without_texts(audit: AuditFiles) -> AuditFiles:
    """The audit without any text or word of the data, for confidential ones."""
    answer = audit.verdict.answer and updated(audit.verdict.answer, example=None)
    verdict = updated(audit.verdict, words=None, substitutions=(), example=None, answer=answer)
    rows = audit.rows.filter(pl.col("item").is_null())
    stored = None if audit.stored is None else audit.stored.filter(pl.col("item").is_null())
    return replace(audit, rows=rows, examples=audit.examples.clear(), verdict=verdict, stored=stored)


def _read(folder: Path, name: str, most: int | None) -> AuditFiles:
    verdict = _read_verdict(folder)
    examples = _read_parquet(folder / "examples.parquet", EXAMPLES).filter(pl.col("split") == verdict.split)
    is_part = most is not None and verdict.texts > max(most, len(examples))
    some = _some_texts(folder, verdict, examples["example"], most or 0) if is_part else None
    rows = _read_parquet(folder / "rows.parquet", ROWS, some)
    rows = rows.filter(pl.col("split") == verdict.split)
    outcomes = _read_parquet(folder / "outcomes.parquet", OUTCOMES)
    if rows.is_empty():
        raise StoreError(f"rows.parquet must have rows of the split '{verdict.split}'; it has none")
    _check_once(rows, ["run", "split", "example", "item", "test", "measure"], "rows.parquet")
    _check_once(examples, ["example"], "examples.parquet")
    texts = verdict.texts if some is None else rows["example"].n_unique()
    _check_every_text(rows, texts, len(verdict.trainings) or 1)
    _check_items(rows, examples)
    _check_once(outcomes, ["run", "split", "example", "ranking", "removal"], "outcomes.parquet")
    _check_outcomes(outcomes, verdict, examples)
    name = name or _name_of(verdict)
    if some is None:
        return AuditFiles(rows, examples, verdict, name, outcomes, folders=(folder,))
    stored = _scanned(folder / "rows.parquet").filter(pl.col("split") == verdict.split)
    return AuditFiles(rows, examples, _drawn_from(verdict, texts), name, outcomes, stored, (folder,))


def _name_of(verdict: Verdict) -> str:
    """The model's name in figures; without a seed if there are several."""
    run = verdict.settings.get("run")
    settings = {"run": {**run, "seed": 0}} if run and len(verdict.trainings) > 1 else verdict.settings
    return short_name(settings, verdict.model or verdict.run)


def _some_texts(folder: Path, verdict: Verdict, shown: pl.Series, most: int) -> pl.Expr:
    """Which rows are read: those of the shown texts and of others at random, `most` texts in all."""
    own = pl.col("split") == verdict.split
    texts = _read_parquet(folder / "rows.parquet", {"example": ROWS["example"]}, own, "example").sort("example")
    if len(texts) != verdict.texts:
        raise StoreError(f"rows.parquet must have rows of {verdict.texts} texts; it has rows of {len(texts)}")
    others = texts["example"].filter(~texts["example"].is_in(shown.implode()))
    kept = others.sample(max(0, most - len(shown)), seed=SAMPLE_SEED)
    return pl.col("example").is_in(pl.concat([kept, shown]).implode())


def _drawn_from(verdict: Verdict, texts: int) -> Verdict:
    """The verdict with a note on how many texts are drawn."""
    drawn = f"Figures are drawn from {texts:,} of the {verdict.texts:,} texts, chosen at random"
    return updated(verdict, notes=(*verdict.notes, f"{drawn}; every number of the verdict is of all."))


def _scanned(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, hive_partitioning=False, glob=False)


def _read_verdict(folder: Path) -> Verdict:
    if damage := find_damage(folder, ["verdict.json"]):
        raise StoreError(damage)
    content = None
    with suppress(ValueError, RecursionError):  # what is no verdict is refused below, with its reason
        content = json.loads((folder / "verdict.json").read_bytes())
    if isinstance(content, dict) and (several := content.get("audits")):
        raise SettingError(
            f"{folder} holds the report of {len(several)} models. Read the audit of one of them by its run key: "
            f"{', '.join(str(each.get('run')) for each in several)}."
        )
    return read_verdict_file(folder)


def _read_parquet(path: Path, schema: Columns, only: pl.Expr | None = None, unique: str | None = None) -> pl.DataFrame:
    """The table of a file.

    Args:
        only: which rows; None: all.
        unique: the only column that is read, each of its values once; None: all columns.
    """
    if damage := find_damage(path.parent, [path.name]):
        raise StoreError(damage)
    try:
        if only is None:
            frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
        else:
            some = _scanned(path).filter(only)
            frame = (some if unique is None else some.select(unique).unique()).collect(engine="streaming")
    # Corrupt bytes can make polars panic, and a panic is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise StoreError(f"{path.name} cannot be read as Parquet: {reason(error)}") from error
    missing = [column for column in schema if column not in (*frame.columns, *OPTIONAL)]
    if missing:
        raise StoreError(f"{path.name} must have the columns {', '.join(schema)}; it lacks {', '.join(missing)}")
    for column, kind in schema.items():
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(None, kind).alias(column))
        try:
            frame = frame.with_columns(pl.col(column).cast(kind))
        except pl.exceptions.PolarsError as error:
            was = frame.schema[column]
            raise StoreError(f"{path.name}: column {column} must hold {kind}; it holds {was} that is not") from error
        empty = frame[column].null_count()
        if empty and column not in NULLABLE:
            raise StoreError(f"{path.name}: column {column} must have no empty cells; it has {empty}")
    return frame.select(list(schema))


def _check_once(frame: pl.DataFrame, key: Sequence[str], name: str) -> None:
    if frame.select(key).is_duplicated().any():
        raise StoreError(f"{name} must name each {', '.join(key)} once; some stand there twice")


def _check_every_text(rows: pl.DataFrame, texts: int, trainings: int) -> None:
    """Every measure of whole texts must have a row for each seed and text, since texts are compared."""
    whole = rows.filter(pl.col("item").is_null())
    if whole["example"].n_unique() != texts:
        raise StoreError(f"rows.parquet must have rows of {texts} texts; it has rows of {whole['example'].n_unique()}")
    counts = whole.group_by("run", "test", "measure").len().filter(pl.col("len") != texts).sort("test", "measure")
    if not counts.is_empty():
        _, test, measure, count = counts.row(0)
        raise StoreError(f"rows.parquet must have {texts} rows of {test}.{measure}, one per text; it has {count}")
    if whole["run"].n_unique() != trainings:
        raise StoreError(f"rows.parquet must have rows of {trainings} seeds; it has {whole['run'].n_unique()}")


def _check_items(rows: pl.DataFrame, examples: pl.DataFrame) -> None:
    """Every item row must point at a word that examples.parquet has."""
    items = rows.filter(pl.col("item").is_not_null()).select("example", "item").unique()
    known = examples.select("example", pl.col("items").list.len().alias("count"))
    joined = items.join(known, on="example", how="left")
    lost = joined.filter(pl.col("count").is_null() | (pl.col("item") >= pl.col("count")) | (pl.col("item") < 0))
    if not lost.is_empty():
        example, item, _ = lost.sort("example", "item").row(0)
        raise StoreError(
            f"rows.parquet speaks of item {item} of example {example}, which examples.parquet does not have"
        )


def _check_outcomes(outcomes: pl.DataFrame, verdict: Verdict, examples: pl.DataFrame) -> None:
    """Every outcome must be one, with its reason, of a known class, and speak of words that the text has."""
    if verdict.answer is not None and outcomes.filter(split=verdict.split).is_empty():
        raise StoreError(f"outcomes.parquet must have rows of the split '{verdict.split}'; it has none")
    outcome, reason = pl.col("outcome"), pl.col("reason")
    is_known = (
        (outcome.is_in(["points", "misses"]) & reason.is_null())
        | ((outcome == "no_small_set") & reason.is_in(get_args(Reason)))
        | (outcome.is_null() & reason.is_in(UNCOUNTED))
    )
    places = pl.concat_list(pl.col("top_words", "key_words").fill_null([]))
    is_inside = pl.all_horizontal(
        places.list.min().fill_null(0) >= 0, places.list.max().fill_null(0) < pl.col("words").clip(1)
    )
    shown = examples.select("run", "split", "example", count=pl.col("items").list.len().cast(pl.Int32))
    counted = outcomes.join(shown, on=["run", "split", "example"], how="left")
    is_whole = pl.col("count").fill_null(pl.col("words")) == pl.col("words")
    is_sound = is_known & is_inside & is_whole & pl.col("predicted").is_in(list(verdict.labels))
    wrong = counted.filter(~is_sound.fill_null(False))
    if not wrong.is_empty():
        raise StoreError(
            f"outcomes.parquet must hold an outcome of each text, its class, and words of it; of example "
            f"{wrong['example'][0]} it does not"
        )
