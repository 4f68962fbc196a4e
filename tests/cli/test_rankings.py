"""`heedful audit` with marks of people, with methods by name and with scores from a file, as a user types it."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError

SMALL = ["--encoder", "average", "--epochs", "12", "--set", "network.embed_size=16", "--set", "network.hidden_size=16"]
SMALL += ["--set", "training.learning_rate=0.01"]
QUICK = [
    "--tests",
    "outcome,erase_until_flip,plausibility,ranking_agreement",
    "--set",
    "audit.erase_until_flip.rankings=3",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with marked.csv, a run trained on it, and its key."""
    place = tmp_path_factory.mktemp("own")
    with (place / "marked.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label", "why"])
        for n in range(150):
            word, label = (("poor", "bad"), ("fine", "good"))[n % 2]
            writer.writerow([f"t{n}", f"a {word} film number {n % 7} of all", label, "[1]"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        key = json.loads(invoke("train", "marked.csv", "--rationale", "why", *SMALL, "--json").stdout)["key"]
    return place, key


@pytest.fixture
def key(folder, monkeypatch):
    monkeypatch.chdir(folder[0])
    return folder[1]


def invoke(*arguments):
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def write_scores(name, ids, score=lambda place: float(place == 1)):
    rows = [{"id": text, "word": place, "score": score(place), "name": "mine"} for text in ids for place in range(5)]
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return name


def test_the_section_is_in_terminal_json_and_page(key):
    output = " ".join(invoke("audit", "--model", key, *QUICK, "--details", "--rankings", "smoothgrad").output.split())
    assert "marks are column 'why', read as word indices" in output
    assert "Does attention point where people would?" in output
    assert "Plausible: agreement with rationales" in output and "no evidence of how the model decides" in output
    verdict = json.loads(Path("report/verdict.json").read_text(encoding="utf-8"))
    assert {line["name"] for line in verdict["lines"] if line["group"] == "plausibility"} == {
        "plausibility",
        "plausible_top_words",
    }
    assert all(ranking["plausible"] is not None for ranking in verdict["rankings"])
    assert "SmoothGrad" in [ranking["title"] for ranking in verdict["rankings"]]
    page = Path("report/report.html").read_text(encoding="utf-8")
    assert "Does attention point where people would?" in page and "figure-faithful_and_plausible" in page


def test_scores_of_a_file_are_ranked_on_the_run_s_data_and_on_other(key):
    scores = write_scores("mine.jsonl", [f"t{n}" for n in range(150)])
    for data in ([], ["marked.csv", "--rationale", "why"]):
        result = invoke("audit", *data, "--model", key, "--scores", scores, *QUICK, "--json")
        verdict = json.loads(result.stdout)
        own = {ranking["name"]: ranking for ranking in verdict["rankings"]}["mine"]
        assert own["average_precision"] == 1.0 and own["faithful"] is not None
        assert any(note.startswith("'mine' has scores for") for note in verdict["notes"])
        judged = {own["name"]: own for own in verdict["answer"]["rankings"]}["mine"]
        assert judged["points"]["n"] <= verdict["texts"] and judged["answer"]
    terminal = invoke("audit", "--model", key, "--scores", scores, *QUICK).output
    assert re.search(r" mine +[A-Z]", terminal)
    assert "figure-fraction_erased" in Path("report/report.html").read_text(encoding="utf-8")


def test_other_scores_make_another_audit_and_the_same_ones_do_not(key, folder):
    def audits():
        return {path.name for path in (folder[0] / "audits").iterdir()}

    write_scores("first.jsonl", [f"t{n}" for n in range(150)])
    invoke("audit", "--model", key, "--scores", "first.jsonl", *QUICK)
    before = audits()
    invoke("audit", "--model", key, "--scores", "first.jsonl", *QUICK)
    assert audits() == before
    write_scores("first.jsonl", [f"t{n}" for n in range(150)], lambda place: place)
    invoke("audit", "--model", key, "--scores", "first.jsonl", *QUICK)
    assert len(audits() - before) == 1


def test_what_cannot_be_done_is_said_in_one_line(key):
    write_scores("others.jsonl", ["x1", "x2"])
    model, scores = ["--model", key], ["--scores", "mine.jsonl"]
    for arguments, message in (
        (["marked.csv", *scores], "--scores needs --model: name the finished run"),
        ([*model, *scores, "--seeds", "2"], "--seeds cannot be combined with --scores"),
        ([*model, "--scores", "none.jsonl"], "none.jsonl cannot be read"),
        ([*model, "--scores", "others.jsonl"], "must name the audited texts by their ids; none does"),
        (["mock-1", "--rankings", "rollout"], "--rankings rollout is for Hugging Face models"),
        ([*model, "--rankings", "limes"], "unknown ranking 'limes'. Did you mean 'lime'"),
        (["marked.csv", "--rationale", "whi"], "--rationale names column 'whi', which is not there"),
    ):
        with pytest.raises(HeedfulError, match=re.escape(message)):
            invoke("audit", *arguments)
