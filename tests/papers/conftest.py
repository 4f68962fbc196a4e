import pytest

from heedful.measures import Estimate
from heedful.papers import claim_rule, reproduction
from heedful.papers.claim_rule import Part
from heedful.papers.reproduction import OldClaim, Entry, Study, Table
from heedful.papers.study_pages import summarize
from support.synthetic_results import made_cell, made_results, near

PART = Estimate(0.5, 0.45, 0.55, 100)
TABLE = Table(
    "Table 1",
    "Some numbers",
    "A note.",
    ("data",),
    ("score", "AUC"),
    ((("sst2",), (Entry(PART, 0.47), Entry(None))), (("imdb",), (Entry(None), Entry(PART)))),
)
CLAIM = OldClaim("so", "It is so.", "so it is", "section 1", "x - y", "nats", 0.05, baseline=0.1)


@pytest.fixture(scope="session", autouse=True)
def minilm_at_hand():
    """Studies have their cells with MiniLM in these tests, whether or not it is installed; nothing is trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "has_minilm", lambda: True)
        yield


@pytest.fixture
def table():
    """A table with a number of the paper in one of its two columns."""
    return TABLE


@pytest.fixture
def claim():
    """A claim before its test."""
    return CLAIM


@pytest.fixture
def make_report():
    """The report on a study of one claim, which is confirmed, and one table; or with other parts of a study."""

    def make(results=None, **parts):
        study = {
            "name": "tiny",
            "folder": "attefa",
            "title": "Tiny | study",
            "paper": "Nobody (2000)",
            "scales": {"small": "next to nothing"},
            "runs": lambda scale: [],
            "tables": lambda results: [TABLE],
            "claims": lambda results: [claim_rule.test_claim(CLAIM, {"sst2": Part(near(0.2))})],
            "figures": lambda results, claims: [],
            **parts,
        }
        cells = results or made_results(made_cell("sst2", "bilstm"))
        return summarize(Study(**study), cells, "heedful reproduce x", 2)

    return make
