"""The commands in the documentation are typed: each runs here on tiny data, or says why it is not run."""

import csv
import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heedful.cli import app
from test_docs import ALL_PAGES, COMMAND, commands, fenced, path_of

NOT_RUN = {
    r"data fetch \w|hub:|hf:OWNER": "needs the network; tests/data/test_fetch.py has a server of its own",
    r"^heedful serve": "does not end; tests/cli/test_serve.py starts and stops it",
    r"--scheduler|sweep (?!.*--dry-run)": "starts processes; tests/cli/test_sweep.py",
    r"--deep|--seeds|improve|calibrate": "trains several models; tests/cli, tests/jobs, tests/papers",
    r"reproduce (?!.*--dry-run)": "takes minutes or more; tests/papers",
    r"my-bert|my-encoder|hf:|--finetune": "needs a Hugging Face model; tests/cli/test_audited_classifiers.py makes one",
    r"--rankings|--scores": "needs captum or a file of scores; tests/cli/test_rankings.py",
    r"hatexplain|ann,ben|why": "needs marked texts; tests/data and tests/battery/test_plausibility.py have some",
    r"data synonyms|--vectors": "needs WordNet or word vectors; tests/cli/test_data.py",
    r"--query": "needs a model of two texts; tests/cli/test_explain.py",
    r"bag\.py": "needs the model of that page; tests/subjects/test_custom_model.py runs it",
    r"--workers": "starts processes; tests/jobs/test_running.py",
    r"compare": "needs two audits; tests/cli/test_report.py",
    r"--method faithful": "trains its teachers first; tests/cli/test_cli.py",
    r"sensitivity": "takes long; tests/battery/test_sensitivity.py",
    r"--encoder transformer|^heedful audit( sst2| mock-1 --encoder average)?$": "a whole audit; start.md's runs",
}
"""What commands match, and why they are not run here. All are parsed, and their settings validated, by test_docs.py."""

SHOWN_ONLY = {
    "SLURMCluster": "needs Slurm and dask-jobqueue",
    "KubeCluster": "needs Kubernetes and dask-kubernetes",
    "def write_ferret": "tests/test_doc_writers.py runs it",
    "class BagOfWords": "tests/subjects/test_custom_model.py runs it",
    "def write_inseq": "tests/test_doc_writers.py runs it",
    'heedful.load("3f9a")': "stands for the reader's own run; examples/ has notebooks that run",
    "heedful.audit(model, batches)": "stands for the reader's own model; docs/own-model.md has one that runs",
}
"""What a block of Python holds that is shown and not run, and why. All other blocks are run by test_docs.py."""

OTHER_LINES = {
    r"make \w+": "what .ci/run calls",
    r"pip install": "changes the environment; tests/test_wheel.py installs into one of its own",
    r"dask |export ": "a cluster of the reader's own; tests/runs has clusters on loopback",
    r"#": "a comment",
}
"""What lines of shell blocks that are no commands of Heedful begin with, and why they are not run."""

TINY = ["--epochs", "5", "--set", "network.embed_size=8", "--set", "network.hidden_size=8"]
COLUMNS = ["--text", "review", "--label", "stars"]
KEY = re.compile(r"\b(KEY|3f9a|77c1|81c2|[0-9a-f]{16})\b")
"""What pages write for the key of a finished run."""


def arguments_of(command: str) -> list[str]:
    return shlex.split(command, comments=True)[1:]


def plain(command: str) -> str:
    """The command without its comment."""
    return shlex.join(["heedful", *arguments_of(command)])


def reason(command: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, plain(command))), None)


def write_texts(folder: Path) -> None:
    """Reviews under every name that the pages use, and the named set sst2."""
    texts = [f"a {('dull', 'great')[n % 2]} film with w{n % 7} and w{n % 5} in it" for n in range(90)]
    labels = [("bad", "good")[n % 2] for n in range(90)]
    for name in ("reviews.csv", "my.csv"):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            rows = zip(texts, texts, labels, strict=True)
            csv.writer(file).writerows([("review", "Post body", "stars"), *rows])
    (folder / "reviews.txt").write_text("\n".join(texts[:3]), encoding="utf-8")
    for split in ("train", "dev", "test"):
        place = folder / "data" / "sst2" / f"{split}.jsonl.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
        place.write_bytes(gzip.compress("\n".join(rows).encode()))


@pytest.fixture
def key(tmp_path, monkeypatch):
    """In a folder with texts, a finished run and its audit: that run's key."""
    write_texts(tmp_path)
    small = '[data]\nsource = "mock-1"\ntrain_limit = 60\ntest_limit = 20\n[grid]\nseed = [0, 1]\n'
    (tmp_path / "study.toml").write_text(small, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    run("audit", "reviews.csv", *COLUMNS, "--encoder", "average", "--seeds", "1", *TINY, *limited())
    [trained] = (tmp_path / "runs").iterdir()
    return trained.name


def limited() -> list[str]:
    """What makes an audit short: one test, few texts."""
    return ["--tests", "erase_until_flip", "--examples", "20", "--set", "audit.shown=1"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, (arguments, result.output[-2000:], result.exception)
    return result.stdout


def typed(command: str, key: str) -> list[str]:
    """The arguments as they are run here: with a key that there is, columns that the file has, and short."""
    arguments = [KEY.sub(key, argument) for argument in arguments_of(command)]
    has_file = any(argument in ("reviews.csv", "my.csv") for argument in arguments)
    if has_file and "--text" not in arguments and arguments[0] != "explain":
        arguments += COLUMNS
    if arguments[0] in ("train", "audit") and "--model" not in arguments:
        arguments += ["--seeds", "1"] * (arguments[0] == "audit") + TINY
    if arguments[0] == "audit":
        arguments += limited()[2 * ("--tests" in arguments) :]
    return arguments


def to_run() -> dict[str, str]:
    """Every command that is run, and a page on which it stands."""
    every = {plain(command): path_of(page) for page in ALL_PAGES for command in commands(page)}
    return {command: page for command, page in every.items() if not reason(command)}


@pytest.mark.slow
def test_every_other_command_runs_as_it_is_typed(key):
    silent = [command for command in to_run() if not run(*typed(command, key))]
    assert silent == []


def test_commands_are_run_where_they_can_be():
    assert len(to_run()) >= 20
    assert {"docs/data.md", "docs/explain.md", "docs/reading-a-report.md"} <= set(to_run().values())


def test_every_command_of_the_first_page_runs():
    assert [command for command in commands(ALL_PAGES[0].parent / "docs" / "start.md") if reason(command)] == []


def test_every_reason_is_needed():
    every = [plain(command) for page in ALL_PAGES for command in commands(page)]
    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, command) for command in every)] == []


def test_every_block_that_is_not_run_says_why():
    pages = [page for page in ALL_PAGES if page.name != "CONTRIBUTING.md"]  # whose blocks test_contributing.py applies
    shown = [
        code for page in pages for code in (*fenced(page, "py"), *fenced(page, "python") * (page.name == "README.md"))
    ]
    assert [code for code in shown if not any(mark in code for mark in SHOWN_ONLY)] == []
    assert [mark for mark in SHOWN_ONLY if not any(mark in code for code in shown)] == []


def test_every_line_of_a_shell_block_is_a_command_or_says_why_not():
    lines = [line for page in ALL_PAGES for code in fenced(page, "sh", "bash") for line in code.splitlines() if line]
    others = [line for line in lines if not COMMAND.match(line)]
    assert [line for line in others if not any(re.match(pattern, line) for pattern in OTHER_LINES)] == []
    assert others and len(others) < len(lines)
