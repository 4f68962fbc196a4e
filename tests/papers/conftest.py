from datetime import date

import pytest

from heedful.measures import Estimate
from heedful.papers import reproduction, study_pages, study_report
from heedful.papers.reproduction import Claim, Entry, JudgedClaim, SetEffect, Study, Table
from heedful.papers.study_report import summarize
from support.synthetic_results import made_cell, made_results

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
    id="so",
    origin="quote",
    place="section 1",
    statement="It is so.",
    kind="more",
    measure="prediction.correct",
    unit="accuracy",
    margin=0.02,
    margin_reason="an accuracy that matters",
    fixed=date(2026, 11, 20),
    sets=("sst2", "imdb"),
    quote="so it is",
)
JUDGED = JudgedClaim(
    claim=CLAIM,
    sets=(
        SetEffect("sst2", Estimate(0.2, 0.1, 0.3, 100), "holds", paper=0.4, predicted=False),
        SetEffect("imdb", Estimate(0.1, 0.05, 0.15, 100), "holds", counts=False, why="left out by the paper"),
    ),
    word="replicated",
    p=0.01,
    mean=Estimate(0.2, 0.1, 0.3, 1),
    new_set=None,
    decides="",
    margins="abc",
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
def judged():
    """A claim that was replicated on the one set that counts."""
    return JUDGED


@pytest.fixture
def make_report(monkeypatch):
    """The report on a study of one claim, which is replicated, and one table; or with other parts of a study."""

    def make(results=None, claims=(JUDGED,), **parts):
        study = {
            "name": "tiny",
            "folder": "embedding_start",
            "title": "Tiny | study",
            "paper": "Nobody (2000)",
            "scales": {"small": "next to nothing"},
            "runs": lambda scale: [],
            "tables": lambda results: [TABLE],
            "figures": lambda results: [],
            **parts,
        }
        notes = [["It is **so**."], ["**Smaller models.** One."], ["**Stable is easy.** Of `mean`."]]
        monkeypatch.setattr(study_pages, "study_notes", lambda study: notes)
        monkeypatch.setattr(study_report, "judge_claims", lambda study, results: list(claims))
        cells = results or made_results(made_cell("sst2", "bilstm"))
        return summarize(Study(**study), cells, "heedful reproduce x", 2)

    return make
