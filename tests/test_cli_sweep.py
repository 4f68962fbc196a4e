"""`heedful sweep`, without a cluster."""

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import SettingError
from heedful.runs.grid import expand_grid
from heedful.runs.store import Store
from heedful.runs.worker import ensure
from support.cluster import FILE, SMALL


def invoke(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_a_dry_run_lists_and_estimates_and_does_nothing(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(epochs=1))
    result = invoke(file, "--runs", tmp_path / "runs", "--dry-run", "--out", tmp_path / "table.parquet")
    assert result.exit_code == 0
    assert "12 of 12 runs are left" in result.output and "time is unknown" in result.output
    assert pl.read_parquet(tmp_path / "table.parquet")["status"].to_list() == ["left"] * 12
    assert not (tmp_path / "runs").exists()
    (choice,) = expand_grid({**SMALL, "training": {"epochs": 1}, "grid": {"network.encoder": ["average"]}})
    ensure(choice.run, Store(tmp_path / "runs"))
    result = invoke(file, "--runs", tmp_path / "runs", "--dry-run", "--workers", "2")
    assert "11 runs to do: about" in result.output and "on 2 workers (judging by the 5 that" in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("'training.epochs' = [1, 'many']", "study.toml: setting 'training.epochs'"),
        ("'network.encodr' = ['cnn']", "study.toml: setting 'network.encodr'"),
        ("'network.encoder' = ['cn']", "study.toml: unknown encoder 'cn'"),
    ],
)
def test_an_error_names_the_file_and_the_setting(tmp_path, line, message):
    file = tmp_path / "study.toml"
    file.write_text(f"[grid]\n{line}\n")
    result = invoke(file, "--runs", tmp_path)
    assert isinstance(result.exception, SettingError) and message in str(result.exception)


def test_the_table_goes_to_csv_or_parquet_only(tmp_path):
    result = invoke(tmp_path / "study.toml", "--out", "table.xlsx")
    assert isinstance(result.exception, SettingError) and "'table.xlsx'" in str(result.exception)
