"""Which encoder the study takes, and what it says where there is none."""

import pytest

from heedful.errors import SettingError
from heedful.models.pretrained import minilm
from heedful.studies.transformers.encoder import require_encoder
from support.tiny_transformers import save_tiny_encoder


def test_the_variable_names_its_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(minilm.VARIABLE, save_tiny_encoder(tmp_path / "tiny"))
    require_encoder()


def test_where_it_is_missing_the_study_says_what_to_do(monkeypatch):
    monkeypatch.delenv(minilm.VARIABLE, raising=False)
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    with pytest.raises(SettingError, match=r"MiniLM is not at hand; set HEEDFUL_MINILM .* pip install"):
        require_encoder()
