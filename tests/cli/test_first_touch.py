"""A stranger's path: a CSV file, `audit`, `explain`, `report --card`, and a shell script for CI."""

import csv
import json
import os
import random
import re
import subprocess
import sys

import pytest
from huggingface_hub import ModelCard
from typer.main import get_command
from typer.testing import CliRunner

import heedful
from heedful.cli import app
from heedful.errors import SettingError

FILLERS = ["the", "a", "film", "was", "shown", "in", "our", "town", "on", "monday", "with", "actors", "and", "music"]
TELLING = {"good": ["splendid", "moving", "gripping"], "bad": ["dreadful", "tedious", "clumsy"]}
SMALL = ["--encoder", "average", "--epochs", "10", "--set", "network.embed_size=16", "--workers", "1"]
SMALL += ["--set", "training.learning_rate=0.02"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with reviews.csv: one or two telling words per text, and none in the rare class of plain texts."""
    folder, draw = tmp_path_factory.mktemp("first"), random.Random(0)
    with (folder / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["review", "sentiment"])
        for number in range(500):
            label = ("good", "bad", "good", "bad", "plain")[number % 5]
            words = draw.choices(FILLERS, k=10)
            words += draw.choices(TELLING[label], k=draw.choice([1, 2])) if label in TELLING else []
            draw.shuffle(words)
            rows.writerow([" ".join(words), label])
    return folder


def call(folder, *arguments):
    before = os.getcwd()
    os.chdir(folder)
    try:
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, list(arguments), catch_exceptions=False)
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def audited(folder):
    """What the first command prints, and the audit in the folder that it wrote."""
    columns = ["--text", "review", "--label", "sentiment"]
    printed = call(folder, "audit", "reviews.csv", *columns, *SMALL, "--seeds", "1").stdout
    return printed, heedful.load(folder / "report")


def counted(outcomes, **chosen):
    """Rounded share of texts in which attention points, among those in which a small set decides; and all texts."""
    own = outcomes.filter(ranking="attention", removal="delete", split="test", **chosen)
    points, misses = (own.filter(outcome=name).height for name in ("points", "misses"))
    return round(100 * points / (points + misses)), own.height


def test_the_audit_prints_the_shares_of_its_outcomes_in_few_lines(audited):
    printed, audit = audited
    assert "350 training texts, no word vectors" in printed and "--vectors glove-100" in printed
    lines = printed.splitlines()
    model = lines[next(place for place, line in enumerate(lines) if "test texts" in line) :]
    assert len(model) <= 25 and max(map(len, model[:-2])) <= 80
    share, texts = counted(audit.outcomes)
    assert texts == audit.verdict.texts == 100 and f"{texts} test texts" in model[0]
    assert f"Can attention be shown as an explanation? {audit.answer.headline}" in printed
    assert f"Attention points to the key words in {share} of 100 texts" in " ".join(printed.split())
    for label in TELLING:
        (row,) = (line for line in model if line.startswith(f"{label} "))
        assert re.search(rf" {counted(audit.outcomes, predicted=label)[0]} \(\d+ to \d+\)", row)


def test_an_explained_text_has_the_outcome_of_the_audit(audited, folder):
    printed, audit = audited
    (key,) = re.findall(r'heedful explain "TEXT" --model (\w+)', printed)
    shown = audit.examples.filter(split="test").head(5)
    rows = audit.outcomes.filter(ranking="attention", removal="delete", split="test")
    for example, text in shown.select("example", "text").iter_rows():
        (explained,) = json.loads(call(folder, "explain", text, "--model", key, "--json").stdout)["texts"]
        row = rows.filter(example=example).row(0, named=True)
        outcome = explained["outcome"]
        assert (outcome["outcome"], outcome["predicted"]) == (row["outcome"], row["predicted"])
        assert list(outcome["key_words"]) == row["key_words"]
        assert list(outcome["top_words"]) == row["top_words"]


def test_the_card_has_the_shares_of_the_outcomes(audited, folder):
    printed, audit = audited
    (key,) = re.findall(r'heedful explain "TEXT" --model (\w+)', printed)
    assert "report/card.md" in call(folder, "report", key, "--card").stdout
    card = ModelCard.load(folder / "report" / "card.md")
    values = {result.metric_name: round(100 * result.metric_value) for result in card.data.eval_results}
    assert values["Attention points to the key words"] == counted(audit.outcomes)[0]
    for label in TELLING:
        share, texts = counted(audit.outcomes, predicted=label)
        assert values[f"Attention points to the key words, predicted {label}"] == share
        assert re.search(rf"\| {label} \| [\w ]+ \| {texts} \| {share} \(", card.text)


def test_a_shell_script_stops_at_an_answer_below_what_is_required(audited, folder):
    _, audit = audited
    assert audit.answer.headline == "Yes"
    command = f"{sys.executable} -m heedful audit reviews.csv --text review --label sentiment {' '.join(SMALL)}"
    script = """
        set -e
        {command} --seeds 1 --require yes --quiet
        echo kept
        {command} --seeds 1 --set verdict.yes=0.999 --require some --quiet
        {command} --seeds 1 --set verdict.yes=0.999 --require yes --quiet
        echo never
    """.replace("{command}", command)
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 3, done.stderr
    assert "kept" in done.stdout and "never" not in done.stdout
    assert "plain" not in done.stderr
    (reason,) = (line for line in done.stderr.splitlines() if "--require" in line)
    assert re.match(r"--require yes is not met\. .*: Class bad: For some texts\. Attention points", reason)


def test_a_report_of_several_models_names_the_audits_to_load(audited, folder):
    _, audit = audited
    several = folder / "several"
    several.mkdir()
    verdict = audit.verdict.model_dump(mode="json")
    (several / "verdict.json").write_text(json.dumps({"audits": [verdict, verdict | {"run": "ab" * 8}]}))
    with pytest.raises(SettingError, match=rf"holds the report of 2 models.*{audit.verdict.run}, abababab"):
        heedful.load(several)


def test_a_loaded_report_is_the_stored_audit(audited, folder):
    _, audit = audited
    stored = [heedful.load(place) for place in (folder / "audits").iterdir() if not place.name.startswith(".")]
    same = [each for each in stored if each.answer == audit.answer and each.outcomes.equals(audit.outcomes)]
    assert same and same[0].rows.height == audit.rows.height
    assert same[0].examples.equals(audit.examples.select(same[0].examples.columns))


def test_a_quick_audit_says_what_it_costs(folder):
    columns = ["--text", "review", "--label", "sentiment"]
    printed = " ".join(
        call(folder, "audit", "reviews.csv", *columns, *SMALL, "--quick", "--out", "quick").output.split()
    )
    assert "is about 8 percentage points wide on each side, with 500 texts 4." in printed
    assert "Other seeds can give a different answer" in printed
    settings = json.loads((folder / "quick/verdict.json").read_text())["settings"]["audit"]
    assert settings["examples"] == 150
    with pytest.raises(SettingError, match="--quick cannot be combined with --seeds"):
        call(folder, "audit", "reviews.csv", *SMALL, "--quick", "--seeds", "2")


def test_help_begins_with_at_most_twelve_options():
    parameters = get_command(app).commands["audit"].params
    panels = [each.rich_help_panel for each in parameters if each.param_type_name == "option"]
    first = next(place for place, panel in enumerate(panels) if panel.startswith("More"))
    assert set(panels[:first]) == {"Options"} and first + 1 <= 12  # and --help itself
    assert all(panel.startswith("More") or panel == "Output" for panel in panels[first:])
