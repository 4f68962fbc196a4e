import gzip
import json
import os
import signal

import pytest
import torch
from hypothesis import settings

from support.folders import outside

# A shell starts background jobs deaf to Ctrl-C, and their children inherit it: tests of Ctrl-C must not depend on that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# torch's first call is slow, so no deadline; the same examples every time, so a failure can be seen again.
EXAMPLES = int(os.environ.get("HEEDFUL_EXAMPLES", "15"))
settings.register_profile("heedful", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("heedful")
torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for name in (name for mark in item.iter_markers("data") for name in mark.args):
        if not outside(name).exists():
            pytest.skip(f"{name} is not here")


@pytest.fixture(scope="session")
def trained():
    """A small run."""
    from heedful.training.loop import train
    from support.runs import changed, toy

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
    from heedful.report.loading import audit
    from support.audits import QUICK
    from support.runs import toy

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEEDFUL_DATA", str(wordnet))
        return audit(trained, toy(), QUICK)
