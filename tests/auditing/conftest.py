import gzip
import json

import pytest

from heedful.auditing.audit import audit
from heedful.training.loop import train
from support.audits import QUICK
from support.runs import changed, toy


@pytest.fixture(scope="session")
def trained():
    return train(changed(training__epochs=6), toy())


@pytest.fixture(scope="session")
def wordnet(tmp_path_factory):
    """A folder to name by HEEDFUL_DATA: its WordNet has a synonym for a word of every text."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "synonyms").mkdir()
    content = {"good": {"a": ["bad"]}, "bad": {"a": ["good"]}}
    (folder / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(gzip.compress(json.dumps(content).encode()))
    return folder


@pytest.fixture(scope="session")
def finished(trained, wordnet):
    """A quick audit of that model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEEDFUL_DATA", str(wordnet))
        return audit(trained, toy(), QUICK)
