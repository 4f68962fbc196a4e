"""What a run is made of: the content of its data and its vectors, not their names."""

import pytest

from heedful.errors import SettingError
from heedful.settings import Run, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.start import with_fingerprints
from support.runs import toy

VECTORS = "good 1 0\nbad 0 1\nfilm 1 1\n"


def run_with(vectors):
    quick = {"training.epochs": 1, "network.hidden_size": 4, "network.encoder": "average"}
    return update_settings(Run(), {**quick, "network.vectors": str(vectors)})


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, encoding="utf-8")
    return path


def test_other_vectors_under_the_same_name_make_another_run(vectors):
    before = key_of(with_fingerprints(run_with(vectors), "f"))
    assert key_of(with_fingerprints(run_with(vectors), "f")) == before
    vectors.write_text(VECTORS.replace("1 1", "1 2"), encoding="utf-8")
    assert key_of(with_fingerprints(run_with(vectors), "f")) != before


def test_a_run_without_vectors_has_no_fingerprint_of_them():
    assert with_fingerprints(Run(), "f").network.vectors_fingerprint == ""


def test_a_run_whose_vectors_were_never_read_has_no_key(vectors):
    with pytest.raises(SettingError, match=r"`network\.vectors_fingerprint` must be set"):
        key_of(update_settings(run_with(vectors), {"data.fingerprint": "f"}))


def test_training_records_the_content_of_its_vectors(vectors):
    made = with_fingerprints(run_with(vectors), "f")
    assert train(run_with(vectors), toy()).run.network.vectors_fingerprint == made.network.vectors_fingerprint


def test_training_refuses_other_vectors_than_the_run_was_made_with(vectors):
    other = update_settings(run_with(vectors), {"network.vectors_fingerprint": "0" * 16})
    with pytest.raises(SettingError, match=r"the run is of vectors 0+, but"):
        train(other, toy())
