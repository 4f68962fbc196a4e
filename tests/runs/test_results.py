"""Many runs as one table, and how long more of them may take."""

import pytest

from heedful.runs.grid import expand_grid, unique_runs
from heedful.runs.results import expected_seconds, result_table
from heedful.runs.store import Store
from heedful.runs.worker import ensure
from heedful.settings.validation import update_settings
from support.cluster import SMALL


@pytest.fixture(scope="module")
def half_done(tmp_path_factory):
    """Two runs that differ in seed and kernels; the first is in the store."""
    store = Store(tmp_path_factory.mktemp("runs"))
    content = {**SMALL, "training": {"epochs": 1}, "network": {"embed_size": 7, "hidden_size": 5, "encoder": "cnn"}}
    runs = unique_runs(expand_grid({**content, "runs": [{"network.kernels": [1, 3]}, {"seed": 1}]}), store)
    ensure(next(iter(runs.values())), store)
    return store, runs


def test_the_table_has_a_row_a_run_and_a_column_a_setting_that_varies(half_done):
    store, runs = half_done
    first, second = runs
    rows = result_table(runs, store, {second: "no luck"}, cached=[first])
    assert rows.columns[:6] == ["key", "network.kernels", "seed", "status", "error", "accuracy"]
    assert rows.columns[-1] == "seconds"
    assert rows.select("key", "network.kernels", "seed", "status", "error").rows() == [
        (first, "[1, 3]", 0, "cached", None),
        (second, "[1, 3, 5, 7]", 1, "failed", "no luck"),
    ]
    assert rows["accuracy"][0] == store.read(first).scores["test"]["accuracy"] and rows["accuracy"][1] is None
    assert result_table(runs, store, {})["status"].to_list() == ["done", "left"]


def test_the_estimate_goes_by_runs_that_differ_in_the_seed_alone_then_by_data_and_encoder(half_done):
    store, runs = half_done
    first, second = runs.values()
    (described,) = store.listing()[0].values()
    slow = described.model_copy(update={"run": update_settings(second, {"seed": 5}), "seconds": 60.0})
    assert expected_seconds(second, [described, slow]) == 60.0
    assert expected_seconds(second, [described]) == described.seconds
    assert expected_seconds(update_settings(first, {"data.source": "x"}), [slow]) is None
