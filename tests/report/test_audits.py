import json
import shutil
from contextlib import contextmanager

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import StoreError
from heedful.report.audits import (
    distinct_names,
    printable,
    read_audit,
    short_name,
    shown_settings,
    without_texts,
)
from heedful.schema import updated
from heedful.store.folders import write_checksums
from support.synthetic_audit import make_audit


def test_names_and_settings_are_written_for_a_reader():
    assert distinct_names(["average", "bilstm"], [{"seed": 0}, {"seed": 1}]) == ("average", "bilstm")
    settings = [{"run": {"seed": 0, "method": "seat", "fingerprint": "a"}}, {"run": {"seed": 3, "method": "vanilla"}}]
    assert distinct_names(["cnn", "cnn"], settings) == ("cnn, seat, seed 0", "cnn, vanilla, seed 3")
    assert distinct_names(["cnn", "cnn", "gru"], [{}, {}, {}]) == ("cnn (1)", "cnn (2)", "gru")
    assert short_name({"audit": {"seed": 1}, "run": None}, "MyModel") == "MyModel"
    assert short_name({"run": {"encoder": "cnn", "seed": 0}}, "key") == "cnn"
    assert printable("a\x00b\nc") == "a b c"
    settings = {"count": 1, "search": True, "none": [], "zero": 0}
    assert shown_settings(settings) == {"count": "1", "search": "yes", "none": "none", "zero": "0"}


FILES = ("rows.parquet", "examples.parquet", "outcomes.parquet", "verdict.json")


@contextmanager
def damaged(path):
    """A file that is as it was when the block ends."""
    content = path.read_bytes()
    yield content
    path.write_bytes(content)


@pytest.fixture
def folder(folders, tmp_path):
    """A copy that a test may break."""
    return shutil.copytree(folders[0], tmp_path / "audit")


def change_verdict(folder, **changes):
    path = folder / "verdict.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | changes), encoding="utf-8")


def change_rows(folder, change):
    path = folder / "rows.parquet"
    change(pl.read_parquet(path)).write_parquet(path)


def test_a_whole_audit_is_read_without_other_splits_and_unknown_fields_are_no_error(folder):
    audit = read_audit(folder)
    assert audit.verdict.texts == 40
    assert audit.examples.height == 11
    assert audit.rows.filter(pl.col("item").is_null())["example"].n_unique() == 40
    assert audit.name == "average" and read_audit(folder, "ours").name == "ours"
    change_rows(folder, lambda rows: pl.concat([rows, rows.with_columns(split=pl.lit("dev"))]))
    assert set(read_audit(folder).rows["split"]) == {"test"}
    change_verdict(folder, something={"new": [1]})
    assert read_audit(folder).verdict.texts == 40


def test_an_audit_that_shows_no_text_is_read_and_a_missing_folder_is_named(tmp_path):
    assert read_audit(make_audit(tmp_path, texts=3, shown=0)).examples.is_empty()
    with pytest.raises(StoreError, match="nowhere must be the folder of an audit"):
        read_audit(tmp_path / "nowhere")


def test_a_file_that_is_missing_or_something_else_is_named(folder):
    for name in FILES:
        with damaged(folder / name):
            for content in (b"", b"PAR1", b"\xff\xfe not a file", b"[1, 2]", b"\x80" * 100):
                (folder / name).write_bytes(content)
                with pytest.raises(StoreError, match=name):
                    read_audit(folder)
            (folder / name).unlink()
            with pytest.raises(StoreError, match=f"{name} is missing"):
                read_audit(folder)


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_table_is_read_or_named(folders, tmp_path_factory, place, byte, cut):
    folder = shutil.copytree(folders[0], tmp_path_factory.mktemp("damaged") / "audit")
    path = folder / "rows.parquet"
    content = bytearray(path.read_bytes())
    at = int(place * len(content))
    content[at] = byte
    path.write_bytes(content[:at] if cut else content)
    try:
        read_audit(folder)
    except StoreError as error:
        assert "rows.parquet" in str(error)


def test_a_panic_inside_polars_is_an_error_of_the_file(folder, monkeypatch):
    def panic(path, **options):
        raise pl.exceptions.PanicException("called unwrap on a damaged page")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(StoreError, match=r"\.parquet cannot be read as Parquet: called unwrap"):
        read_audit(folder)


def test_a_missing_column_is_named(folder):
    for column in ("example", "item", "measure", "value"):
        with damaged(folder / "rows.parquet"):
            change_rows(folder, lambda rows, column=column: rows.drop(column))
            with pytest.raises(StoreError, match=f"rows.parquet must have the columns .* it lacks {column}"):
                read_audit(folder)


def thinned(rows):
    return rows.filter((pl.col("example") != 3) | (pl.col("measure") != "probability"))


def shorter(rows):
    return rows.filter(pl.col("example") != 3)


def test_rows_that_are_none_or_not_of_every_text_are_refused(folder):
    for change, message in (
        (thinned, "must have 40 rows of prediction.probability, one per text; it has 39"),
        (shorter, "must have rows of 40 texts; it has rows of 39"),
        (lambda rows: rows.clear(), "must have rows of the split 'test'; it has none"),
        (lambda rows: rows.with_columns(measure=pl.lit(None)), "column measure must have no empty cells"),
        (lambda rows: rows.with_columns(value=pl.lit("much")), "column value must hold Float64; it holds String"),
        (lambda rows: pl.concat([rows, rows.head(1)]), "must name each run, split, example, item, test, measure once"),
        (lambda rows: rows.with_columns(item=pl.col("item") + 1), r"speaks of item \d+ of example 0"),
    ):
        with damaged(folder / "rows.parquet"):
            change_rows(folder, change)
            with pytest.raises(StoreError, match=f"rows.parquet.*{message}"):
                read_audit(folder)


@pytest.mark.parametrize("name", ["rows.parquet", "verdict.json"])
def test_a_changed_byte_is_seen_before_the_file_is_parsed(folder, name, monkeypatch):
    write_checksums(folder)
    read_audit(folder)
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    parse = pl.read_parquet
    untouched = lambda path, **options: parse(path, **options) if path.name != name else pytest.fail("was parsed")  # noqa: E731
    monkeypatch.setattr(pl, "read_parquet", untouched)
    with pytest.raises(StoreError, match=f"{name} was changed or damaged after it was written"):
        read_audit(folder)


def test_every_refusal_says_which_folder_to_delete_and_what_to_call(folder):
    (folder / "rows.parquet").unlink()
    with pytest.raises(StoreError, match=r"audit is not a finished audit: .*Delete that folder, then `heedful audit`"):
        read_audit(folder)
    change_verdict(folder, run="0123456789abcdef")
    with pytest.raises(StoreError, match=r"Delete that folder, then `heedful audit --model 0123456789abcdef` again"):
        read_audit(folder)
    (folder / "verdict.json").unlink()
    with pytest.raises(StoreError, match=r"verdict.json is missing. Delete that folder"):
        read_audit(folder)


def test_an_audit_of_an_older_version_is_refused_with_the_command_that_makes_it_again(folder):
    path = folder / "verdict.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    older = {name: value for name, value in content.items() if name != "answer"} | {"run": "0123456789abcdef"}
    path.write_text(json.dumps(older), encoding="utf-8")
    (folder / "outcomes.parquet").unlink()
    refusal = r"an older version of Heedful made it.* then `heedful audit --model 0123456789abcdef` again"
    with pytest.raises(StoreError, match=refusal):
        read_audit(folder)


def test_outcomes_that_are_none_are_refused(folder):
    refusal = r"outcomes.parquet must hold an outcome of each text, .*of example 0 it does"
    for changes in (
        {"outcome": pl.lit("holds")},
        {"reason": pl.lit("<b>")},
        {"reason": pl.lit("one word")},
        {"top_words": pl.lit([99], pl.List(pl.Int32))},
        {"key_words": pl.lit([-1], pl.List(pl.Int32))},
        {"words": pl.lit(None, pl.Int32)},
        {"words": pl.col("words") + 1},
        {"predicted": pl.lit("neither")},
    ):
        path = folder / "outcomes.parquet"
        with damaged(path):
            pl.read_parquet(path).with_columns(**changes).write_parquet(path)
            with pytest.raises(StoreError, match=refusal):
                read_audit(folder)


def test_without_outcomes_there_may_be_no_answer(folder):
    pl.read_parquet(folder / "outcomes.parquet").clear().write_parquet(folder / "outcomes.parquet")
    with pytest.raises(StoreError, match=r"outcomes.parquet must have rows of the split 'test'; it has none"):
        read_audit(folder)
    change_verdict(folder, answer=None)
    pl.read_parquet(folder / "outcomes.parquet").clear().write_parquet(folder / "outcomes.parquet")
    assert read_audit(folder).verdict.answer is None


def test_a_split_without_rows_is_refused(folder):
    change_verdict(folder, split="dev")
    with pytest.raises(StoreError, match=r"rows.parquet must have rows of the split 'dev'"):
        read_audit(folder)


def test_an_undefined_number_is_none_however_it_was_written(folder):
    path = folder / "verdict.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["lines"][0]["score"] = 424242
    for written in ("NaN", "Infinity", "-Infinity", "null"):
        path.write_text(json.dumps(content).replace("424242", written), encoding="utf-8")
        assert read_audit(folder).verdict.lines[0].score is None


def test_a_wrong_verdict_says_where(folder):
    for changes, said in (
        ({"lines": [{"name": "a"}]}, "is not a verdict: lines.0.question"),
        ({"texts": -1}, "is not a verdict: texts"),
        ({"labels": "ab"}, "is not a verdict: labels"),
        ({"data": "\ud800"}, "cannot be read"),
    ):
        with damaged(folder / "verdict.json"):
            change_verdict(folder, **changes)
            with pytest.raises(StoreError, match=f"verdict.json {said}"):
                read_audit(folder)
    (folder / "verdict.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(StoreError, match="verdict.json cannot be read"):
        read_audit(folder)


def test_an_audit_without_texts_has_no_words_and_the_same_numbers(folders):
    audit = read_audit(folders[0])
    bare = without_texts(audit)
    assert bare.examples.is_empty() and bare.rows["item"].is_null().all()
    assert bare.verdict.words is None and bare.verdict.substitutions == ()
    assert bare.verdict.lines == audit.verdict.lines
    assert bare.verdict.answer == updated(audit.verdict.answer, example=None)
