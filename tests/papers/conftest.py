from dataclasses import replace
from datetime import date

import pytest

from heedful.measures import Estimate
from heedful.papers import reproduction
from heedful.papers.claim_rule import judge_claim
from heedful.papers.reproduction import Claim, Entry, Study, Table
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
CLAIM = Claim(
    *("so", "quote", "section 1", "It is so.", "more", "x.y", "nats", 0.1, "a reason", date(2026, 11, 20)),
    sets=("sst2",),
    quote="so it is",
)


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
    """A claim that is not judged yet."""
    return CLAIM


@pytest.fixture
def make_report():
    """The report on a study of one claim, which is replicated, and one table; or with other parts of a study."""

    def make(results=None, claims=None, **parts):
        study = {
            "name": "tiny",
            "folder": "attefa",
            "title": "Tiny | study",
            "paper": "Nobody (2000)",
            "scales": {"small": "next to nothing"},
            "runs": lambda scale: [],
            "tables": lambda results: [TABLE],
            "figures": lambda results: [],
            **parts,
        }
        cells = results or made_results(made_cell("sst2", "bilstm"))
        judged = [judge_claim(CLAIM, {"sst2": near(0.2)}, {"sst2": 0.3})] if claims is None else claims
        return replace(summarize(Study(**study), cells, "heedful reproduce x", 2), claims=judged)

    return make
