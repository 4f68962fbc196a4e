"""What a worker does, without a cluster."""

import pytest
import torch

from heedful.errors import DataError, SettingError
from heedful.runs.store import Store
from heedful.runs.worker import ensure, files_of, keep, load_data, packed, work
from heedful.settings import DataSettings, NetworkSettings, Run, TrainingSettings, key_of
from heedful.training.loop import train

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=40, test_limit=10),
    network=NetworkSettings(encoder="average", embed_size=7, hidden_size=5),
    training=TrainingSettings(epochs=2),
)


@pytest.fixture(scope="module")
def run():
    return load_data(RUN)[0]


def test_a_worker_hands_back_the_run_that_would_have_been_stored_here(tmp_path, run):
    key, here, found = ensure(RUN, Store(tmp_path / "here"))
    assert not found
    files = work(run.model_dump_json(), key, None)
    keep(files, tmp_path / "there" / key)
    there = Store(tmp_path / "there").load(key)
    assert there.run == here.run and there.scores == here.scores and there.words.words == here.words.words
    for name, weight in here.model.state_dict().items():
        assert torch.equal(weight, there.model.state_dict()[name]), name


def test_keeping_twice_changes_nothing(tmp_path, run):
    store = Store(tmp_path)
    files = packed(train(run, load_data(run)[1]))
    keep(files, store.folder / key_of(run))
    keep({**files, "run.json": b"{}"}, store.folder / key_of(run))
    assert files_of(key_of(run), store) == files
    assert [path.name for path in tmp_path.iterdir()] == [key_of(run)]


def test_a_worker_takes_the_reference_run_as_files(run):
    frozen = run.network.model_copy(update={"attention": "frozen"})
    follower = run.model_copy(update={"network": frozen, "reference": key_of(run)})
    base = work(run.model_dump_json(), key_of(run), None)
    assert "model.safetensors" in work(follower.model_dump_json(), key_of(follower), base)
    with pytest.raises(SettingError, match="needs a reference"):
        work(follower.model_dump_json(), key_of(follower), None)


def test_a_worker_with_other_data_says_so(run):
    other = run.model_copy(update={"data": run.data.model_copy(update={"fingerprint": "0" * 16})})
    with pytest.raises(DataError, match="other content on the worker"):
        work(other.model_dump_json(), key_of(other), None)


def test_a_worker_of_another_version_says_so(run):
    with pytest.raises(SettingError, match="trains otherwise"):
        work(run.model_dump_json(), "0" * 16, None)
