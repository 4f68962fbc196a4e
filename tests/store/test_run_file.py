"""run.json, written and read. What a damaged one says is tested with the store."""

import shlex

import pytest
from pydantic import ValidationError

from heedful.cli.command_options import make_run
from heedful.errors import StoreError
from heedful.settings import key_of
from heedful.settings.validation import update_settings
from heedful.store.run_file import RunFile, describe_run, read_run_file, train_command
from heedful.training.loop import train
from support.runs import changed, toy


@pytest.fixture(scope="module")
def described():
    return describe_run(train(changed(training__epochs=1), toy()))


def test_what_is_written_is_read(tmp_path, described):
    folder = tmp_path / key_of(described.run)
    folder.mkdir()
    (folder / "run.json").write_text(described.model_dump_json())
    assert read_run_file(folder) == described
    with pytest.raises(StoreError, match="^run.json is missing$"):
        read_run_file(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": float("inf")},
        {"seconds": -1.0},
        {"coverage": 1.5},
        {"scores": {}},
        {"scores": {"test": {}}},
        {"labels": ()},
        {"embed_size": 0},
        {"surprise": 1},
    ],
)
def test_what_no_training_could_have_written_is_refused(described, changes):
    with pytest.raises(ValidationError):
        RunFile.model_validate({**described.model_dump(), **changes})


def test_the_command_gives_every_setting_that_is_not_the_default():
    run = changed(data__text="1", network__kernels=(1, 3), training__options={"radius": 0.5}, seed=4, reference="ab")
    run = update_settings(run, {"data.source": "my data.csv"})
    command = train_command(run, "my runs")
    assert command.startswith("heedful train 'my data.csv' --set ") and command.endswith("--runs 'my runs'")
    words = shlex.split(command)
    places = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert make_run({"data": words[2]}, places) == run
