"""Subjects by their names, one table for every caller, and the texts that are loaded for them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heedful
from heedful.__main__ import main
from heedful.cli import app
from heedful.data import DATASETS
from heedful.errors import DataError, HeedfulError, SettingError, StoreError
from heedful.server.served import load_served
from heedful.settings import AuditSettings, DataSettings, Run
from heedful.settings.validation import update_settings
from heedful.store.folders import write_checksums
from heedful.store.run_file import RunFile
from heedful.store.store import Store
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.hugging_face_subject import run_of
from heedful.subjects.opening import NamedModel, find_model, load_texts, open_subject, recorded_source
from support.classifiers import save_classifier, two_classes
from support.custom_models import BagOfWords, texts
from support.runs import toy

OWN = """
from heedful.types import Batch
from support.custom_models import BagOfWords, texts

def load():
    return {"model": BagOfWords(), "data": [texts(5)]}
"""
ROWS = [f"the film was so {('bad', 'good')[n % 2]} {n},{('bad', 'good')[n % 2]}" for n in range(40)]


@pytest.fixture(scope="module")
def root(tmp_path_factory, trained):
    """A folder with a finished run, a Hugging Face classifier, a file with a model, and folders that are no models."""
    place = tmp_path_factory.mktemp("work")
    key = Store(place / "runs").save(trained)
    save_classifier(place / "my-bert")
    save_classifier(place / key[:6])  # a folder that is named like the beginning of a key
    (place / "mine.py").write_text(OWN)
    (place / "empty").mkdir()
    return place


@pytest.fixture(autouse=True)
def work(root, monkeypatch):
    monkeypatch.chdir(root)


@pytest.fixture
def key(trained):
    return FinishedRun(trained).key


def outcomes(key: str) -> dict[str, NamedModel | None]:
    """What each name means; None: nothing."""
    run = NamedModel("run", key, Path("runs") / key)
    return {
        key: run,
        key[:8]: run,
        key[:6]: run,
        f"runs/{key}": run,
        f"./{key[:6]}": NamedModel("classifier", f"./{key[:6]}", Path(key[:6])),
        "mine.py:load": NamedModel("custom", "mine.py:load"),
        "none.py:load": NamedModel("custom", "none.py:load"),
        "my-bert": NamedModel("classifier", "my-bert", Path("my-bert")),
        "./my-bert": NamedModel("classifier", "./my-bert", Path("my-bert")),
        "hf:owner/name": NamedModel("classifier", "hf:owner/name"),
        "owner/name": None,
        "mine.py": None,
        "empty": None,
        "runs": None,
        "0123456789abcdef": None,
        "~nouser": None,
        "../..": None,
        "a\0b": None,
        "x" * 300: None,
        "": None,
        " ": None,
    }


def test_a_name_means_the_same_to_everybody(key):
    for name, wanted in outcomes(key).items():
        if wanted is not None:
            assert find_model(name, Store()) == wanted, name
            continue
        with pytest.raises(StoreError) as refused:
            find_model(name, Store())
        for way in (key, "hf:NAME", "config.json", "FILE.py:FUNCTION"):
            assert way in str(refused.value), name


def test_every_command_says_what_names_there_are(monkeypatch, capsys):
    for arguments in (
        ["audit", "--model", "~nouser"],
        ["audit", "mock-1", "--model", "~nouser"],
        ["explain", "a text", "--model", "~nouser"],
        ["serve", "~nouser", "--port", "0"],
        ["improve", "~nouser"],
    ):
        monkeypatch.setattr("sys.argv", ["heedful", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = " ".join(capsys.readouterr().err.split())
        assert ended.value.code == 2 and "there is no model '~nouser'" in printed and "FILE.py:FUNCTION" in printed
    for call in (heedful.load, heedful.audit, lambda name: heedful.explain(name, "a text")):
        with pytest.raises(HeedfulError, match="no (finished run|model) '~nouser'"):
            call("~nouser")


def test_what_a_name_means_is_opened(key, trained):
    by_key, by_folder = open_subject(key[:7], Store()), open_subject(f"runs/{key}")
    assert by_key.key == by_folder.key == key and by_key.file == Path("runs") / key / "run.json"
    assert open_subject("./my-bert", site="rollout").site == "rollout"
    assert open_subject("mine.py:load").name == "BagOfWords"
    model, view = BagOfWords(), two_classes()
    assert open_subject(trained).opened is trained and open_subject(view).opened is view
    assert open_subject(model).opened is model and open_subject(by_key) is by_key
    with pytest.raises(SettingError, match="site and scope are for Hugging Face models"):
        open_subject(key, Store(), site="last")
    with pytest.raises(SettingError, match="words, name and labels are only for your own model"):
        heedful.audit(key, name="mine")


def test_a_model_whose_tokens_only_the_user_can_number_reads_no_text():
    for call in (lambda: load_served(["mine.py:load"]), lambda: open_subject("mine.py:load").read("a text")):
        with pytest.raises(SettingError, match="Heedful has no tokenizer for|only you can number the tokens of"):
            call()


def test_a_damaged_model_is_refused_by_name_and_no_other_is_trained_in_its_place(key, root, tmp_path, monkeypatch):
    shutil.copytree(root / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    weights = tmp_path / "runs" / key / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + b"damaged!")
    before = weights.read_bytes()
    for arguments in (["audit", "--model", key], ["explain", "a good film", "--model", key]):
        refused = CliRunner().invoke(app, arguments)
        assert isinstance(refused.exception, StoreError) and "is not a finished run" in str(refused.exception)
    assert weights.read_bytes() == before and not list((tmp_path / "audits").glob("*"))


def write(path, rows, head="text,label"):
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return DataSettings(source=str(path))


def test_every_text_of_a_file_is_new_to_a_model_that_was_not_trained_on_it(tmp_path, trained):
    source = write(tmp_path / "new.csv", ROWS)
    for subject in (FinishedRun(trained), open_subject(two_classes())):
        data = load_texts(subject, source)
        assert (len(data.train), len(data.dev) + len(data.test)) == (0, 40)
        assert [example.row for example in data.test] == sorted(example.row for example in data.test)
        assert not any("moved to test" in note for note in data.notes)
    mock = load_texts(FinishedRun(trained), DataSettings(source="mock-1"))
    assert len(mock.train) > 0, "a named set keeps its splits"
    fingerprint = load_texts(FinishedRun(trained), source).fingerprint
    own = update_settings(source, {"fingerprint": fingerprint})
    knowing = FinishedRun(replace(trained, run=update_settings(trained.run, {"data": own})))
    assert load_texts(knowing, source).train and load_texts(FinishedRun(trained), source, [knowing]).train


def test_columns_that_are_not_named_are_those_of_the_models_own_data(tmp_path, trained):
    data = {"data.text": "Post body", "data.label": "verdict"}
    subject = FinishedRun(replace(trained, run=update_settings(trained.run, data)))
    assert len(load_texts(subject, write(tmp_path / "new.csv", ROWS, "Post body,verdict")).test) > 20
    other = write(tmp_path / "other.csv", ROWS, "words,verdict")
    assert len(load_texts(subject, update_settings(other, {"text": "words"})).test) > 20
    assert len(load_texts(subject, write(tmp_path / "usual.csv", ROWS)).test) > 20, "where the file has no such columns"


def test_texts_without_labels_are_all_audited(tmp_path, trained):
    lines = [row.rpartition(",")[0] for row in ROWS]
    for subject in (FinishedRun(trained), open_subject(two_classes())):
        data = load_texts(subject, write(tmp_path / "new.csv", lines, "text"))
        assert data.labels == ("bad", "good") and len(data.test) == 40 and {each.label for each in data.test} == {-1}
        assert any("no labels" in note for note in data.notes)
        assert subject.texts(data, AuditSettings(examples=3)).labels == ("bad", "good")
    numbered = [f"{n},{line}" for n, line in enumerate(lines)]
    ids = load_texts(FinishedRun(trained), write(tmp_path / "ids.csv", numbered, "id,text")).test
    assert [each.id for each in ids][:2] == ["0", "1"]


def test_data_that_is_not_there_or_has_changed_is_named(trained):
    with pytest.raises(SettingError, match="must be given with tiny, a Hugging Face model"):
        load_texts(open_subject(two_classes()))
    before = FinishedRun(replace(trained, run=update_settings(trained.run, {"data.fingerprint": "before"})))
    with pytest.raises(DataError, match="'mock-1' has changed since the run was trained on it"):
        load_texts(before)


def test_what_is_loaded_already_stays_as_it_is(trained):
    data, batches = toy(), [texts(5)]
    assert load_texts(FinishedRun(trained), data) is data
    assert load_texts(open_subject(BagOfWords()), batches) is batches
    assert len(load_texts(open_subject("mine.py:load"))) == 1


def test_a_copy_of_a_fine_tuned_model_still_says_what_it_was_trained_on(tmp_path):
    data = DataSettings(source="toy", fingerprint="f" * 64)
    described = RunFile(
        run=Run(data=data),
        labels=("bad", "good"),
        has_query=False,
        embed_size=4,
        chosen_epoch=1,
        scores={"test": {"accuracy": 1.0}},
        seconds=1.0,
        notes=(),
        coverage=None,
        versions={},
    )
    (tmp_path / "run.json").write_text(described.model_dump_json())
    write_checksums(tmp_path)
    known = run_of(tmp_path)
    assert known is not None and known.data == data
    for content in (described.model_dump_json() + " ", "{}", "no json", json.dumps({"run": {"name": "of another"}})):
        (tmp_path / "run.json").write_text(content)
        assert run_of(tmp_path) is None


def announced(source: str) -> str | None:
    return recorded_source(Run(data=DataSettings(source=source)))


def test_the_reader_is_told_what_a_stored_run_makes_heedful_read(tmp_path, monkeypatch):
    assert [announced(name) for name in DATASETS] == [None] * len(DATASETS)
    monkeypatch.chdir(tmp_path)
    assert announced("../secret.csv") == (
        f"run.json names ../secret.csv: it is read from {tmp_path}/../secret.csv. To read other data, give DATA."
    )
    assert "/etc/passwd" in announced("hub:/etc/passwd") and "hub is asked" not in announced("hub:/etc/passwd")
    assert "the Hugging Face hub is asked" in announced("hub:someone/something")
    monkeypatch.setattr("heedful.data.named_sets", lambda: {"imdb": "films"})
    assert announced("imdb").startswith("run.json names the dataset imdb: it is read from the data folder")
