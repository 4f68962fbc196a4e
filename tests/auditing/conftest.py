import pytest

from heedful.auditing.audit import audit
from heedful.training.loop import train
from support.audits import QUICK
from support.runs import changed, toy


@pytest.fixture(scope="session")
def trained():
    return train(changed(training__epochs=6), toy())


@pytest.fixture(scope="session")
def finished(trained):
    """A quick audit of that model."""
    return audit(trained, toy(), QUICK)
