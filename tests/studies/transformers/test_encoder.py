"""Which encoder the study takes, and what it says where there is none."""

import pytest

from heedful.errors import SettingError
from heedful.studies.transformers import encoder as encoder_file
from heedful.studies.transformers.encoder import HUB_NAME, VARIABLE, encoder, encoder_name, require_encoder
from support.tiny_transformers import save_tiny_encoder


def test_the_variable_names_another(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, save_tiny_encoder(tmp_path / "tiny"))
    assert encoder() == str(tmp_path / "tiny") and encoder_name() == "tiny"
    require_encoder()


def test_without_it_the_package_s_folder_is_taken_and_else_the_hub(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(encoder_file, "_package_folder", lambda: tmp_path)
    assert encoder() == str(tmp_path) and encoder_name() == "MiniLM"
    monkeypatch.setattr(encoder_file, "_package_folder", lambda: None)
    assert encoder() == HUB_NAME


def test_a_package_of_another_shape_is_not_taken(monkeypatch):
    monkeypatch.setattr(encoder_file, "PACKAGE", "heedful")
    assert encoder_file._package_folder() is None
    monkeypatch.setattr(encoder_file, "PACKAGE", "no_such_package")
    assert encoder_file._package_folder() is None


def test_where_it_is_missing_the_study_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(SettingError, match=r"not at hand: .*pip install .* let HEEDFUL_ENCODER name the folder"):
        require_encoder()
