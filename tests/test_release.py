"""What a stranger finds beside the code is true: versions, the lock, the citation, the container, the hosted checks."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import heedful
from heedful.papers import STUDIES
from heedful.papers.published import PAPERS

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"torch", "setuptools", "pip", "heedful"}
"""Not in the lock: torch is pinned in the Makefile, the installers come with Python."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins() -> dict[str, str]:
    lines = [line for line in text_of("constraints.txt").splitlines() if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def required() -> list[Requirement]:
    """All requirements of the package, with every extra."""
    return [Requirement(line) for line in sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"])]


def needed_by(requirement: Requirement) -> list[Requirement]:
    """What an installed package needs here, with the extras asked for."""
    extras = requirement.extras or {""}
    inner = [Requirement(line) for line in distribution(requirement.name).requires or []]
    here = [default_environment() | {"extra": extra} for extra in extras]
    return [each for each in inner if each.marker is None or any(each.marker.evaluate(one) for one in here)]


def closure() -> set[str]:
    """Everything that the package needs here, directly or not, as far as it is installed."""
    waiting, seen, names = required(), set(), set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        names.add(canonicalize_name(requirement.name))
        waiting += needed_by(requirement)
    return names


def test_every_requirement_is_in_the_lock_with_a_version_that_it_allows():
    locked = pins() | {"torch": torch_pin()}
    problems = {
        str(requirement): locked.get(canonicalize_name(requirement.name))
        for requirement in required()
        if locked.get(canonicalize_name(requirement.name), "") not in requirement.specifier
    }
    assert problems == {}


def test_the_lock_is_complete_and_holds_nothing_else():
    try:
        names = closure()
    except PackageNotFoundError as missing:
        pytest.skip(f"{missing} is not installed")
    assert names - OURS == set(pins())


def torch_pin() -> str:
    [pin] = re.findall(r"^TORCH := torch==(\S+)$", text_of("Makefile"), flags=re.MULTILINE)
    return pin


def test_the_command_prints_the_versions_without_importing_torch():
    code = (
        "import sys; from heedful.cli import app; app(['--version'], standalone_mode=False);"
        "assert not {'torch', 'polars', 'dask', 'transformers'} & set(sys.modules)"
    )
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == f"heedful {heedful.__version__}"
    named = ["heedful", "python", "torch", "transformers", "polars", "dask"]
    assert [line.split(maxsplit=1)[0] for line in lines] == named
    assert lines[2] == f"torch {distribution('torch').version}"


def test_the_option_prints_them():
    ran = subprocess.run([sys.executable, "-m", "heedful", "--version"], check=True, capture_output=True, text=True)
    assert ran.stdout.startswith(f"heedful {heedful.__version__}\npython {sys.version.split()[0]}\n")


def test_the_changelog_opens_with_this_version_or_what_comes_after_it():
    headings = re.findall(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert [heading for heading in headings if heading != "Unreleased"][0] == heedful.__version__
    assert len(headings) == len(set(headings))


def test_the_citation_is_of_this_version_and_names_every_paper():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == heedful.__version__
    assert str(citation["date-released"]) in text_of("CHANGELOG.md")
    titles = [reference["title"] for reference in citation["references"]]
    papers = ("jain_wallace", "wiegreffe_pinter", "serrano_smith", "attefa", "seat", "sun_lu")
    assert all(any(title in PAPERS[paper] for title in titles) for paper in papers)
    assert len(titles) == len(papers)


def test_attefa_is_cited_in_full():
    assert "BlackboxNLP" in STUDIES["attefa"].paper and "2022.blackboxnlp-1.10" in STUDIES["attefa"].paper
    assert "2022" in PAPERS["attefa"]
    assert "Amini and Kosseim 2022" in text_of("README.md")


def instructions() -> list[tuple[str, str]]:
    """The lines of the Dockerfile: instruction and arguments, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text_of("Dockerfile"), flags=re.MULTILINE))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


KNOWN = {"FROM", "ENV", "ARG", "RUN", "WORKDIR", "COPY", "USER", "ENTRYPOINT", "CMD"}


def test_the_container_is_pinned():
    lines = instructions()
    assert {name for name, _ in lines} <= KNOWN and lines[0][0] == "FROM"
    [image] = [value for name, value in lines if name == "FROM"]
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", image)
    runs = [value for name, value in lines if name == "RUN" and "pip install" in value]
    assert f"torch=={torch_pin()}+cpu" in runs[0]
    assert all("--constraint constraints.txt" in run for run in runs[1:])


def test_the_container_runs_as_a_user_of_its_own_and_holds_no_secret():
    lines = instructions()
    users = [value for name, value in lines if name == "USER"]
    assert users and users[-1] not in ("root", "0")
    last = [name for name, _ in lines].index("USER")
    assert all(name not in ("RUN", "COPY") for name, _ in lines[last:])
    secret = re.compile(r"token|password|secret|_key|credential", flags=re.IGNORECASE)
    assert [line for line in lines if secret.search(line[1])] == []
    assert not any(value.startswith("http") or "://" in value for name, value in lines if name in ("ENV", "ARG", "RUN"))


def test_the_container_copies_what_is_there_and_nothing_is_sent_beside_it():
    copied = [part for name, value in instructions() if name == "COPY" for part in value.split()[:-1]]
    assert all((ROOT / part).exists() for part in copied)
    allowed = re.findall(r"^!(\S+)$", text_of(".dockerignore"), flags=re.MULTILINE)
    assert sorted(allowed) == sorted(copied) and "\n*\n" in text_of(".dockerignore")


def test_the_hosted_checks_run_the_same_command():
    workflow = yaml.safe_load(text_of(".github/workflows/ci.yml"))
    [job] = workflow["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps[0] == ".ci/run" and (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert workflow["permissions"] == {"contents": "read"}
    assert all(re.search(r"@v\d+$", step["uses"]) for step in job["steps"] if "uses" in step)
    targets = [step.split()[1] for step in steps if step.startswith("make ")]
    assert all(f"\n{target}:" in text_of("Makefile") for target in targets)
