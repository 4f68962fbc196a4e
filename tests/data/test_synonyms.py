import gzip
import json

import pytest

from heedful.data.synonyms import wordnet_synonyms
from heedful.errors import DataError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    (tmp_path / "synonyms").mkdir()
    return tmp_path / "synonyms"


def test_synonyms_are_numbers_of_the_vocabulary(folder):
    known = {"film": {"n": ["movie", "picture"], "v": ["shoot", "movie"]}, "good": {"a": ["fine"]}, "movie": {"n": []}}
    (folder / "wordnet_synonyms.json.gz").write_bytes(gzip.compress(json.dumps(known).encode()))
    assert wordnet_synonyms(["<pad>", "shoot", "film", "movie", "good"]) == {2: (3, 1)}


def test_a_file_that_is_not_there_or_broken_is_named(folder):
    with pytest.raises(DataError, match=r"needs .*wordnet_synonyms\.json\.gz.*synonyms='neighbours'"):
        wordnet_synonyms(["film"])
    (folder / "wordnet_synonyms.json.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="cannot be read"):
        wordnet_synonyms(["film"])
