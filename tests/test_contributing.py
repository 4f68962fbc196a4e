"""The walks through CONTRIBUTING.md, done: its files are written, its lines inserted, its tests run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^```(?:python|toml|csv|markdown|text) (file|insert|append)=(\S+)(?: after=(.*?))?\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks() -> list[tuple[str, str, str, str]]:
    """How to apply each block, to which file, after which line, and its content."""
    return BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def apply(folder: Path, how: str, name: str, after: str, content: str) -> None:
    path = folder / name
    if how == "file":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    if how == "append":
        path.write_text(f"{text}\n\n{content}", encoding="utf-8")
        return
    assert text.count(f"{after}\n") == 1, f"{name} must have the line {after!r} once"
    path.write_text(text.replace(f"{after}\n", f"{after}\n{content}"), encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """The repository with everything that CONTRIBUTING.md adds."""
    folder = tmp_path_factory.mktemp("contributing")
    for name in ("heedful", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for block in blocks():
        apply(folder, *block)
    return folder


def run(folder: Path, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return finished.stdout


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
def test_what_is_added_passes_its_tests_and_those_of_its_folder(changed):
    own = [name for how, name, _, _ in blocks() if how == "file" and name.startswith("tests/")]
    selected = "keep_top or gated or label_smoothing or listed or planted"
    suites = ["tests/battery/test_battery.py", "tests/models/encoders", "tests/training/methods/test_methods.py"]
    pytest_options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", selected]
    run(changed, *pytest_options, *own, *suites, "tests/papers/test_studies.py")


@pytest.mark.slow
def test_a_test_is_one_file_one_line_and_a_figure(changed, tmp_path):
    small = [
        "--set",
        "data.train_limit=60",
        "--set",
        "data.test_limit=30",
        "--set",
        "network.embed_size=8",
        "--epochs",
        "1",
        "--seeds",
        "1",
    ]
    places = ["--runs", str(tmp_path / "runs"), "--audits", str(tmp_path / "audits"), "--out", str(tmp_path / "report")]
    tests = ["--tests", "keep_top", "--set", "audit.keep_top.top=2"]
    output = run(changed, "-m", "heedful", "audit", "mock-1", "--encoder", "average", *small, *tests, *places)
    assert "Do the top words alone give the" in " ".join(output.split())
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "predictions stand; on as many random words" in " ".join(page.split()) and "Only the top words" in page


@pytest.mark.slow
def test_what_is_added_keeps_to_the_architecture(changed):
    run(changed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not budget", "tests/test_architecture.py")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--check", "."], cwd=changed, check=True)
    subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=changed, check=True)
