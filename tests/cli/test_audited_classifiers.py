"""Hugging Face classifiers as a user names them: audited, explained, refused."""

import json

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from support.classifiers import save_classifier, written
from support.refusals import assert_refused
from support.tiny_transformers import save_tiny_encoder

QUICK = ["--tests", "erase_one,leave_one_out_agreement", "--set", "audit.shown=2"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with two checkpoints and a file of texts with odd columns."""
    place = tmp_path_factory.mktemp("user")
    for seed in (0, 1):
        save_classifier(place / f"my-bert-{seed}", seed)
    rows = [f"{number},{text},{label}" for number, (text, label) in enumerate(written(60))]
    (place / "my.csv").write_text("\n".join(["n,Post body,verdict", *rows, "99,,good"]), encoding="utf-8")
    return place


@pytest.fixture
def heedful(root, monkeypatch):
    monkeypatch.chdir(root)

    def invoke(*arguments):
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result

    return invoke


COLUMNS = ["--text", "Post body", "--label", "verdict"]


def test_a_folder_is_audited_on_the_users_file(heedful, root):
    output = " ".join(heedful("audit", "my.csv", *COLUMNS, "--model", "./my-bert-0", *QUICK).output.split())
    assert "my: my-bert-0" in output and "Attention is that of the last of 2 layers" in output
    assert "agrees best with leave-one-out" in output and "1 empty texts dropped" in output
    assert 'heedful explain "TEXT" --model ./my-bert-0' in output
    verdict = json.loads((root / "report/verdict.json").read_text())
    assert verdict["labels"] == ["bad", "good"] and len(verdict["heads"]["measures"]["agreement"]) == 2
    page = (root / "report/report.html").read_text()
    assert "Is there any head that one may show?" in page and "Which attention this is" in page


def test_checkpoints_are_audited_together(heedful):
    models = ["--model", "./my-bert-0", "--model", "./my-bert-1"]
    verdict = json.loads(heedful("audit", "my.csv", *COLUMNS, *models, *QUICK, "--json").stdout)
    assert len(verdict["trainings"]) == 2 and "seeds" in {line["name"] for line in verdict["lines"]}


def test_marks_of_people_scores_from_outside_and_methods_by_name(heedful, root):
    """Scores by characters of the word that is marked: the pieces of a word do not matter."""
    lines = ["id,text,label,why"]
    scores = []
    for number, (text, label) in enumerate(written(60)):
        start = text.index(" ") + 1
        end = start + len(text[start:].split()[0])
        lines.append(f"t{number},{text},{label},{start}-{end}")
        scores.append({"id": f"t{number}", "start": start, "end": end, "score": 1.0, "name": "oracle"})
    (root / "marked.csv").write_text("\n".join(lines), encoding="utf-8")
    (root / "oracle.jsonl").write_text("\n".join(map(json.dumps, scores)), encoding="utf-8")
    how = ["--tests", "plausibility,comprehensiveness_sufficiency,erase_until_flip", "--set", "audit.shown=2"]
    how += ["--set", "audit.erase_until_flip.rankings=2", "--examples", "20", "--rankings", "smoothgrad"]
    asked = ["audit", "marked.csv", "--rationale", "why", "--model", "./my-bert-0", "--scores", "oracle.jsonl", *how]
    verdict = json.loads(heedful(*asked, "--json").stdout)
    rankings = {ranking["name"]: ranking for ranking in verdict["rankings"]}
    assert rankings["oracle"]["average_precision"] == 1.0 and rankings["oracle"]["comprehensiveness"] is not None
    assert rankings["smoothgrad"]["average_precision"] is not None
    assert {line["name"] for line in verdict["lines"]} >= {"plausibility", "plausible_top_words"}


def test_sites_and_scopes_are_chosen(heedful):
    flags = ["--site", "head:1.0", "--scope", "all-rows", "--tests", "uniform", "--set", "audit.shown=0"]
    output = heedful("audit", "my.csv", *COLUMNS, "--model", "./my-bert-0", *flags).output
    assert "head 0 of layer 1" in " ".join(output.split())
    assert "--site head:1.0 --scope all-rows" in " ".join(output.split())


def test_texts_are_explained(heedful):
    content = json.loads(
        heedful("explain", "a good film", "--model", "./my-bert-0", "--json", "--audits", "none").stdout
    )
    assert content["texts"][0]["items"] == ["a", "good", "film"]
    pair = json.loads(heedful("explain", "a film", "--query", "bad", "--model", "./my-bert-0", "--json").stdout)
    assert pair["texts"][0]["items"] == ["a", "film", "bad"]


def test_what_does_not_fit_is_one_line(root, monkeypatch):
    monkeypatch.chdir(root)
    data, model = ["my.csv", *COLUMNS], ["--model", "./my-bert-0"]
    for arguments, message in (
        (model, "DATA must be given with --model ./my-bert-0"),
        ([*data, "--model", "./none"], "there is no model './none'"),
        ([*data, *model, "--site", "layer:9"], "must name a layer from 0 to 1"),
        ([*data, *model, "--scope", "rows"], "unknown scope 'rows'"),
        ([*data, *model, *model], "some are named twice"),
        ([*data, "--site", "last"], "Remove --site"),
        ([*data, *model, "--encoder", "cnn"], "--encoder cannot be combined with --model"),
        (["mock-1", *model], "The data has 'negative', 'positive'; the model has 'bad', 'good'"),
    ):
        assert_refused(["audit", *arguments], message)


def test_a_fine_tuned_run_is_audited_by_its_key_on_its_own_data(heedful, root):
    save_tiny_encoder(root / "encoder")
    tuned = ["--finetune", "encoder", "--epochs", "1"]
    key = json.loads(heedful("train", "my.csv", *COLUMNS, *tuned, "--json").stdout)["key"]
    flags = ["--tests", "uniform", "--set", "audit.shown=0", "--json"]
    verdict = json.loads(heedful("audit", "--model", key[:8], *flags).stdout)
    assert verdict["settings"]["model"] == f"runs/{key}" and verdict["labels"] == ["bad", "good"]
    assert verdict["texts"] < 30  # the test texts alone: the others were trained on
    assert json.loads(heedful("explain", "a good film", "--model", key, "--json").stdout)["texts"]
