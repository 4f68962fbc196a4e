import json

import pytest

from heedful.jobs.audit_parts import ensure_audit, request_of
from heedful.report.audits import read_audit
from heedful.runs.classifiers import is_classifier, load_texts, load_view, trained_on
from heedful.settings import AuditSettings, DataSettings, Run
from heedful.settings.comparison_models import ComparisonModels
from heedful.store.folders import write_checksums
from heedful.store.run_file import RunFile
from support.classifiers import make_dataset, save_classifier, written

QUICK = AuditSettings(tests=("uniform",), shown=0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two checkpoints of a model."""
    place = tmp_path_factory.mktemp("models")
    return [save_classifier(place / f"tiny-{seed}", seed) for seed in (0, 1)]


def test_folders_and_names_of_the_hub_are_told_from_keys(folders):
    assert all(map(is_classifier, (folders[0], "hf:name", "owner/name", "./no-such-folder")))
    assert not is_classifier("3f9a01b2c4d5e6f7")


def test_of_a_single_file_every_text_is_new(tmp_path):
    rows = [f"{text},{label}" for text, label in written(30)]
    (tmp_path / "my.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    dataset = load_texts(DataSettings(source=str(tmp_path / "my.csv")))
    assert (len(dataset.train), len(dataset.dev) + len(dataset.test)) == (0, 30)


def test_a_copy_under_any_name_still_says_what_it_was_trained_on(tmp_path):
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
    assert trained_on(str(tmp_path)) == data
    (tmp_path / "run.json").write_text(described.model_dump_json() + " ")
    assert trained_on(str(tmp_path)) is None


@pytest.mark.parametrize("content", ["{}", "no json", '{"run": {"name": "of another tool"}}'])
def test_the_run_file_of_another_tool_says_nothing(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    assert trained_on(str(tmp_path)) is None


def test_an_audit_is_made_once_and_named_by_what_it_is_of(folders, tmp_path):
    model, dataset = load_view(folders[0]), make_dataset()
    place = ensure_audit(model, dataset, QUICK, tmp_path)
    before = (place / "verdict.json").stat().st_mtime_ns
    assert ensure_audit(load_view(folders[0]), dataset, QUICK, tmp_path) == place
    assert (place / "verdict.json").stat().st_mtime_ns == before
    verdict = json.loads((place / "verdict.json").read_text())
    assert verdict["run"] == model.key and verdict["model"] == "tiny-0" and verdict["settings"]["site"] == "last"
    rows = read_audit(place).rows
    assert set(rows["site"]) == {"last"} and set(rows["scope"]) == {"row"}


def test_other_sites_weights_and_checkpoints_are_other_audits(folders):
    first, second = map(load_view, folders)
    dataset = make_dataset()
    keys = {
        request_of(first, dataset, QUICK, ComparisonModels()).key,
        request_of(second, dataset, QUICK, ComparisonModels()).key,
        request_of(first.at("rollout"), dataset, QUICK, ComparisonModels()).key,
        request_of(first.at("last", "all-rows"), dataset, QUICK, ComparisonModels()).key,
        request_of(first, dataset, QUICK, ComparisonModels(seeds=(second,))).key,
    }
    assert len(keys) == 5
    assert first.key == load_view(folders[0]).key


def test_an_interrupted_audit_is_made_again(folders, tmp_path, caplog):
    model, dataset = load_view(folders[0]), make_dataset()
    place = ensure_audit(model, dataset, QUICK, tmp_path)
    (place / "rows.parquet").unlink()
    assert ensure_audit(model, dataset, QUICK, tmp_path) == place
    assert "is made again" in caplog.text and (place / "rows.parquet").is_file()
