"""The files of a finished run. What damaged ones say is tested with the store."""

import subprocess
import sys

import pytest
from torch import nn

from heedful.errors import StoreError
from heedful.settings import DataSettings, FinetuneSettings, Run, key_of
from heedful.store.run_file import read_run_file
from heedful.training.loop import train
from heedful.training.trained import Finetuned, names_of_files, pretrained_name, read_table, read_trained, write_trained
from support.runs import changed, same, toy

# What a fine-tuned model says of itself.


def test_a_model_is_called_by_its_name_or_the_end_of_its_path():
    names = {"hf:owner/name": "owner/name", "name": "name", "/home/me/models/minilm": "models/minilm", "./m": "m"}
    for model, name in names.items():
        assert pretrained_name(Run(finetune=FinetuneSettings(model=model))) == name


def test_its_representation_is_short():
    run = Run(data=DataSettings(source="sst2"), finetune=FinetuneSettings(model="owner/name"), seed=3)
    scores = {"dev": {}, "test": {"accuracy": 0.85}}
    finetuned = Finetuned(
        run=run,
        module=nn.Identity(),
        tokenizer=None,
        labels=("no", "yes"),
        has_query=False,
        history=(),
        chosen_epoch=1,
        scores=scores,
        seconds=2.0,
    )
    assert repr(finetuned) == "Finetuned(owner/name, sst2, seed 3, accuracy 0.850)"


@pytest.fixture(scope="module")
def trained():
    return train(changed(training__epochs=1, training__record_flow=(0, 1)), toy())


@pytest.fixture
def folder(tmp_path, trained):
    folder = tmp_path / key_of(trained.run)
    folder.mkdir()
    write_trained(trained, folder)
    return folder


def test_what_is_written_is_read_and_is_all_that_a_run_must_have(folder, trained):
    again = read_trained(read_run_file(folder), folder)
    assert same(again, trained) and again.history == trained.history and again.tokens.equals(trained.tokens)
    assert {path.name for path in folder.iterdir()} == set(names_of_files(trained.run))


def test_reading_a_run_does_not_import_the_compiler_of_torch(folder):
    code = (
        "import sys; from pathlib import Path; from heedful.store.run_file import read_run_file\n"
        "from heedful.training.trained import read_trained; folder = Path(sys.argv[1])\n"
        "read_trained(read_run_file(folder), folder); print('torch._dynamo' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "False"


def test_scores_of_tokens_must_be_there_only_where_they_were_recorded(trained):
    assert "tokens.parquet" in names_of_files(trained.run)
    assert "tokens.parquet" not in names_of_files(changed())


def test_writing_twice_gives_the_same_bytes(tmp_path, folder, trained):
    (tmp_path / "again").mkdir()
    write_trained(trained, tmp_path / "again")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_table_that_is_lost_is_named(folder):
    (folder / "tokens.parquet").unlink()
    with pytest.raises(StoreError, match="^tokens.parquet is missing$"):
        read_table(folder, "tokens.parquet")
    with pytest.raises(StoreError, match="^tokens.parquet is missing$"):
        read_trained(read_run_file(folder), folder)
