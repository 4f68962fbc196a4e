"""What a study measures by itself: keyed folders that are whole or not there."""

import json

import polars as pl
import pytest

from heedful.errors import StoreError
from heedful.store.folders import write_files
from heedful.studies.measurements import (
    MeasuredRun,
    Measurement,
    measurement_problem,
    pack_measurement,
    read_measurement,
)


def count_texts(folder, dataset, settings, report):
    return pl.DataFrame()


def measured(run="r", **changes):
    fields = {"name": "n", "version": 1, "function": count_texts, "settings": {"texts": 3}, **changes}
    return MeasuredRun(Measurement(**fields), run)


ROWS = pl.DataFrame({"example": [0, 1], "test": "t", "measure": "m", "value": [1.0, None], "item": [None, None]})


@pytest.fixture
def folder(tmp_path):
    write_files(pack_measurement(ROWS, {"run": "r"}, 2.5), tmp_path / "key")
    return tmp_path / "key"


def test_the_key_is_of_all_that_decides_the_rows():
    others = [measured("s"), measured(version=2), measured(name="o"), measured(settings={"texts": 4})]
    assert len({each.key for each in (measured(), *others)}) == 5
    assert measured().key == measured().key and json.loads(measured().description())["run"] == "r"


def test_what_is_written_is_read_again(folder):
    assert measurement_problem(folder) is None
    again = read_measurement(folder)
    assert again.seconds == 2.5 and again.rows["value"].to_list() == [1.0, None]


def test_what_is_damaged_or_missing_is_not_finished(folder, tmp_path):
    assert measurement_problem(tmp_path / "none") == "there is no such folder"
    (folder / "rows.parquet").write_bytes(b"PAR1PAR1")
    assert "rows.parquet was changed or damaged" in (measurement_problem(folder) or "")
    with pytest.raises(StoreError, match="is not a finished measurement"):
        read_measurement(folder)


def test_other_columns_are_refused(folder):
    pl.DataFrame({"a": [1]}).write_parquet(folder / "rows.parquet")
    with pytest.raises(StoreError, match="has other columns"):
        read_measurement(folder)
