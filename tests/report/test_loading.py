"""Runs, audits and data sets by their names, and audits of what has a name."""

from dataclasses import replace
from pathlib import Path

import pytest

import heedful
from heedful.errors import DataError, HeedfulError, SettingError, StoreError
from heedful.settings import AuditSettings, DataSettings, key_of
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from support.custom_models import BagOfWords, texts
from support.runs import changed

RUN = changed(data__train_limit=40, data__test_limit=10, training__epochs=1)
ONLY = AuditSettings(tests=("permutation",), options={"permutation": {"count": 2}}, shown=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a finished run in `runs`, another with its attention frozen, and a saved audit in `audits`."""
    root = tmp_path_factory.mktemp("work")
    data = heedful.load_data(RUN)
    trained = heedful.train(RUN, data)
    store = Store(root / "runs")
    key = store.save(trained)
    frozen = changed(
        data__train_limit=40, data__test_limit=10, training__epochs=1, network__attention="frozen", reference=key
    )
    store.save(heedful.train(frozen, data, reference=trained))
    heedful.audit(trained, data, ONLY).save(root / "audits" / ("c" * 16))
    return root


@pytest.fixture(scope="module")
def keys(folder):
    """Of the plain run and of the frozen one."""
    runs = {run.run.network.attention: key for key, run in Store(folder / "runs").listing()[0].items()}
    return runs["additive"], runs["frozen"]


@pytest.fixture(autouse=True)
def work(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_runs_and_audits_are_loaded_by_key_or_folder_and_others_are_named(keys):
    key = keys[0]
    for name in (key, key[:8], f"runs/{key}", Path("runs") / key):
        loaded = heedful.load(name)
        assert isinstance(loaded, heedful.Trained) and key_of(loaded.run) == key
    for name in ("c" * 16, "cccc", "audits/" + "c" * 16, Path("audits") / ("c" * 16)):
        loaded = heedful.load(name)
        assert isinstance(loaded, heedful.Audit) and loaded.verdict.run == keys[0]
    for name in ["", " ", "nothing", "runs", "../.."]:
        with pytest.raises(HeedfulError):
            heedful.load(name)


def test_names_are_looked_up_where_one_says(folder, keys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert isinstance(heedful.load(keys[0], runs=str(folder / "runs")), heedful.Trained)
    assert isinstance(heedful.load("cccc", audits=folder / "audits"), heedful.Audit)
    with pytest.raises(StoreError, match=f"no finished run '{keys[0]}' in runs/ and no audit of that name in audits/"):
        heedful.load(keys[0])


def test_data_is_loaded_by_name_file_or_settings_with_sentences_where_the_run_reads_them(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("body;mark\n" + "".join(f"word {n} text;{'yes' if n % 2 else 'no'}\n" for n in range(40)))
    for source in (str(file), file):
        data = heedful.load_data(source, text="body", label="mark")
        assert data.labels == ("no", "yes") and len(data.train) + len(data.dev) + len(data.test) == 40
    small = heedful.load_data(DataSettings(source="mock-1", train_limit=6, test_limit=4))
    assert (len(small.train), len(small.test)) == (6, 4)
    assert (len(heedful.load_data(RUN).train), len(heedful.load_data(RUN).test)) == (40, 10)
    run = changed(network__encoder="hierarchical", data__train_limit=4, data__test_limit=4)
    assert heedful.load_data(run).train[0].sentences[0] == 0 and not heedful.load_data(RUN).train[0].sentences


def test_a_stored_run_is_audited_on_its_own_data_and_on_any_other(keys, tmp_path):
    own = heedful.audit(keys[0], settings=ONLY)
    assert own.verdict.data == "mock-1" and own.verdict.texts == 10
    by_hand = heedful.audit(heedful.load(keys[0]), heedful.load_data(RUN), ONLY)
    assert own.rows.equals(by_hand.rows)
    settings = DataSettings(source="mock-2", train_limit=9, test_limit=8)
    other = heedful.audit(f"runs/{keys[0]}", settings, ONLY)
    assert other.verdict.data == "mock-2" and other.verdict.texts == 8 and set(other.verdict.scores) == {"accuracy"}
    file = tmp_path / "new.csv"
    file.write_text("text,label\n" + "".join(f"good word {n},{('positive', 'negative')[n % 2]}\n" for n in range(50)))
    everything = heedful.audit(keys[0], file, ONLY).verdict
    assert everything.texts > 40 and everything.counted_on == "the audited texts"


def test_the_attention_that_a_stored_run_imposes_is_found(keys):
    frozen, plain = heedful.audit(keys[1], settings=ONLY), heedful.audit(keys[0], settings=ONLY)
    largest = [each.rows.filter(measure="max_attention")["value"].to_list() for each in (frozen, plain)]
    assert largest[0] == pytest.approx(largest[1], abs=1e-6)


def test_data_that_changed_since_is_refused_unless_it_is_asked_for(keys):
    trained = heedful.load(keys[0])
    before = replace(trained, run=update_settings(trained.run, {"data.fingerprint": "before"}))
    with pytest.raises(DataError, match="'mock-1' has changed since the run was trained on it.*data='mock-1'"):
        heedful.audit(before, settings=ONLY)
    assert heedful.audit(before, before.run.data, ONLY).verdict.data == "mock-1"


def test_labels_that_the_run_does_not_know_and_audits_as_models_are_named(keys, tmp_path):
    file = tmp_path / "other.csv"
    file.write_text("text,label\n" + "".join(f"word {n},{('cat', 'dog')[n % 2]}\n" for n in range(40)))
    with pytest.raises(DataError, match="the run's labels, 'negative', 'positive'; 'other' also has 'cat', 'dog'"):
        heedful.audit(keys[0], file, ONLY)
    with pytest.raises(SettingError, match="model must be a finished run; 'cccc' is an audit"):
        heedful.audit("cccc", settings=ONLY)


def test_a_model_of_ones_own_is_audited_as_well():
    assert heedful.audit(BagOfWords(), [texts(5)], ONLY, name="mine").verdict.run == "mine"
