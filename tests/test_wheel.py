"""The wheel holds the whole package, and works in an environment that knows nothing of the repository."""

import csv
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import heedful

ROOT = Path(__file__).parents[1]

COMMANDS = """
import sys
from pathlib import Path

import heedful
from heedful.cli import app

assert Path(heedful.__file__).is_relative_to(sys.prefix), heedful.__file__
for command in sys.argv[1:]:
    app(command.split(), standalone_mode=False)
"""
"""Several commands in one process, since every process imports torch anew."""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return folder


def the(pattern: str, folder: Path) -> Path:
    [path] = folder.glob(pattern)
    return path


def files_of(part: str) -> set[str]:
    """Every file of a folder of the repository, by its path."""
    paths = (path for path in (ROOT / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built):
    names = {name for name in zipfile.ZipFile(the("*.whl", built)).namelist() if ".dist-info/" not in name}
    assert names == files_of("heedful")
    assert {"heedful/py.typed", "heedful/server/static/live.html", "heedful/papers/seat/published.csv"} <= names


def test_the_source_distribution_can_be_tested_and_its_documentation_built(built):
    with tarfile.open(the("*.tar.gz", built)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert files_of("heedful") | files_of("tests") | files_of("examples") <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "constraints.txt", "Makefile", "docs/conf.py"} <= names


def test_the_wheel_says_what_it_is(built):
    with zipfile.ZipFile(the("*.whl", built)) as wheel:
        metadata = wheel.read(f"heedful-{heedful.__version__}.dist-info/METADATA").decode()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "License-Expression: Apache-2.0" in metadata
    assert all(f"Classifier: {classifier}" in metadata for classifier in project["classifiers"])


def write_reviews(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "stars"])
        for number in range(120):
            rest = " ".join(f"w{(number * prime) % 11}" for prime in (3, 5, 7))
            writer.writerow([f"{rest} {('dull', 'great')[number % 2]} film", ("one", "five")[number % 2]])


@pytest.mark.slow
def test_an_installed_wheel_works_outside_the_repository(built, tmp_path):
    place, work = tmp_path / "environment", tmp_path / "work"
    venv.create(place, with_pip=False)
    # The heavy dependencies are those at hand. A folder named in a .pth file has its own .pth files ignored, so the
    # editable installation there is not seen.
    packages = the("lib/python*/site-packages", place)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = place / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "HEEDFUL"))}
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", the("*.whl", built)]
    subprocess.run([python, *install], check=True, env=environment)
    work.mkdir()
    write_reviews(work / "my.csv")
    small = "--encoder average --seeds 1 --epochs 2 --set network.embed_size=8 --tests uniform,erase_until_flip"
    commands = [
        "list tests",
        "reproduce sun-lu --dry-run",
        f"audit my.csv --text review --label stars {small}",
    ]
    ran = subprocess.run([python, "-c", COMMANDS, *commands], cwd=work, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "erase_until_flip" in ran.stdout and "runs to do" in ran.stdout
    assert (work / "report" / "report.html").stat().st_size > 10_000
    assert (place / "bin" / "heedful").exists()
