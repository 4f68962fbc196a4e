"""The finished runs of a store for a reader."""

import os
from dataclasses import replace

import pytest

from heedful.settings import key_of
from heedful.settings.validation import update_settings
from heedful.store.run_listing import described_differences, list_runs
from heedful.store.store import Store
from heedful.training.loop import train
from support.runs import changed, toy


@pytest.fixture(scope="module")
def trained():
    return train(changed(training__epochs=1), toy())


def put(store, trained, when, **changes):
    """A copy of the run with other settings, stored at that time."""
    run = update_settings(trained.run, {place.replace("__", "."): value for place, value in changes.items()})
    key = store.save(replace(trained, run=run))
    os.utime(store.folder / key / "run.json", (when, when))
    return key


def test_runs_are_listed_by_date_with_what_differs_and_accuracy(tmp_path, trained):
    store = Store(tmp_path)
    late = put(store, trained, 1_700_000_000)
    early = put(store, trained, 1_600_000_000, network__encoder="cnn", network__kernels=(1, 3), seed=4)
    (tmp_path / "holiday").mkdir()
    listing = list_runs(store)
    assert [run.key for run in listing.runs] == [early, late] and len(listing.problems) == 1
    assert [run.date.timestamp() for run in listing.runs] == [1_600_000_000, 1_700_000_000]
    assert {run.accuracy for run in listing.runs} == {trained.scores["test"]["accuracy"]}
    assert listing.runs[0].settings == {"network.encoder": "cnn", "network.kernels": [1, 3], "seed": 4}
    assert listing.common == {"data.source": "mock-1", "network.attention": "additive", "training.method": "vanilla"}


def test_a_difference_is_said_in_a_few_words(tmp_path, trained):
    store = Store(tmp_path)
    put(store, trained, 1, data__source="/my/data.csv")
    put(store, trained, 2, network__kernels=(1, 3), training__batch_size=32)
    put(store, trained, 3, training__method="seat", training__options={"radius": 0.5}, seed=3)
    assert described_differences(list_runs(store)) == [
        "/my/data.csv, vanilla, seed 0, batch_size 4",
        "mock-1, vanilla, seed 0, kernels [1, 3]",
        "mock-1, seat, seed 3, radius 0.5, batch_size 4",
    ]


def test_a_single_run_and_an_empty_store_differ_in_nothing(tmp_path, trained):
    store = Store(tmp_path)
    assert list_runs(store) == list_runs(Store(tmp_path / "none")) and list_runs(store).runs == ()
    assert described_differences(list_runs(store)) == []
    put(store, trained, 1)
    listing = list_runs(store)
    assert described_differences(listing) == [""] and [run.key for run in listing.runs] == [key_of(trained.run)]
    assert list(listing.common.values()) == ["mock-1", "average", "additive", "vanilla", 0]
