"""The documentation agrees with the package: examples run, and every name, command and setting in it exists."""

import pkgutil
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from heedful.jobs.sweep_file import expand_grid

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for folder in (DOCS, DOCS / "papers", DOCS / "api") for page in folder.glob("*.md"))
"""Written by hand; the studies' pages are made by commands, and those of tests and methods when the site is built."""
ALL_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *PAGES]

FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
CREATED = re.compile(r"^```\w+ file=(\S+)$", flags=re.MULTILINE)
"""A file that the reader is told to write."""
MODULE = re.compile(r"\bheedful(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"\bheedful(?:/[\w.]*\w)+")
COMMAND = re.compile(r"^ *(?:\$ )?(heedful .*)$", flags=re.MULTILINE)
SETTING = re.compile(r"`(--set [a-z_.]+=[^`]+)`")
"""A setting with a real name; PART.NAME=VALUE stands for any."""


def path_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", ALL_PAGES, ids=path_of)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def fenced(page: Path, *languages: str) -> list[str]:
    """The code blocks in these languages."""
    return [code for language, code in FENCED.findall(read(page)) if language in languages]


def commands(page: Path) -> list[str]:
    """The lines that call `heedful` in shell blocks: fenced, or indented by four spaces."""
    return commands_in(read(page))


def commands_in(text: str) -> list[str]:
    """The same of a page's text."""
    indented = re.findall(r"^    .*$", FENCED.sub("", text), flags=re.MULTILINE)
    shell = [code for language, code in FENCED.findall(text) if language in ("", "sh", "bash", "shell", "console")]
    return [command for block in (*shell, *indented) for command in COMMAND.findall(block)]


def parse(command: str) -> dict[str, Any] | int:
    """The parameters that a command line sets, parsed by the real parser; nothing is run. 0 for `--help`."""
    from heedful.cli import app

    program = typer.main.get_command(app)
    for parser in subcommands(program):
        parser.callback = dict  # instead of running, return the parameters
    return program.main(shlex.split(command, comments=True)[1:], standalone_mode=False)


def subcommands(program: Any) -> list[Any]:
    """The commands of a group, those of its groups included, but not the groups."""
    inner = getattr(program, "commands", None)
    return [program] if inner is None else [leaf for command in inner.values() for leaf in subcommands(command)]


def message_of(error: Exception) -> str:
    """What a user would read; typer's usage errors put it together themselves, and have no public name."""
    return error.format_message() if hasattr(error, "format_message") else str(error)


def validate(parameters: dict[str, Any]) -> None:
    """Raise on a setting, test or option that does not exist."""
    from heedful.cli.audit_command import audit_settings, split_audit
    from heedful.cli.command_options import make_run

    of_run, of_audit = split_audit(list(parameters.get("settings") or []))
    make_run(parameters, of_run)
    audit_settings(parameters.get("tests"), parameters.get("examples"), parameters.get("search", False), of_audit)


@pytest.mark.parametrize("page", [page for page in PAGES if fenced(page, "python")], ids=path_of)
def test_the_examples_of_a_page_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code in fenced(page, "python"):
        exec(compile(code, str(page), "exec"), {})
        assert capsys.readouterr().out


@each_page
def test_every_module_and_name_of_the_package_exists(page):
    created = [path.removesuffix(".py").replace("/", ".") for path in CREATED.findall(read(page))]
    missing = {}
    for name in sorted(set(MODULE.findall(read(page)))):
        if any(f"{name}.".startswith(f"{module}.") for module in created):
            continue
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError) as error:
            missing[name] = str(error)
    assert missing == {}


@each_page
def test_every_file_of_the_package_exists(page):
    created = CREATED.findall(read(page))
    paths = sorted(set(FILE.findall(read(page))))
    missing = [path for path in paths if not (ROOT / path).exists() and not any(c.startswith(path) for c in created)]
    assert missing == []


def problems_of(called: list[str]) -> dict[str, str]:
    """The commands that cannot be called, and why not."""
    problems = {}
    for command in called:
        try:
            parameters = parse(command)
            if isinstance(parameters, dict) and "settings" in parameters:
                validate(parameters)
        except Exception as error:
            problems[command] = message_of(error)
    return problems


@each_page
def test_every_command_can_be_called(page):
    assert problems_of(commands(page)) == {}


def test_every_command_of_a_generated_page_can_be_called():
    from generate import generated_pages

    called = [command for text in generated_pages().values() for command in commands_in(text)]
    assert len(called) > 40 and problems_of(called) == {}


@each_page
def test_every_setting_named_in_the_text_exists(page):
    problems = {}
    for setting in SETTING.findall(read(page)):
        try:
            validate(parse(f"heedful audit mock-1 {setting}"))
        except Exception as error:
            problems[setting] = message_of(error)
    assert problems == {}


@pytest.mark.parametrize("page", [page for page in PAGES if fenced(page, "toml")], ids=path_of)
def test_every_sweep_file_is_valid(page):
    for content in fenced(page, "toml"):
        assert expand_grid(tomllib.loads(content))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("heedful adit sst2", "No such command"),
        ("heedful audit sst2 --dep", "No such option"),
        ("heedful report", "Missing argument"),
        ("heedful list tests encoders", "unexpected extra argument"),
    ],
)
def test_a_wrong_command_is_noticed(command, message):
    with pytest.raises(Exception) as caught:
        parse(command)
    assert message in message_of(caught.value)


def test_the_tree_names_every_part_of_the_package():
    tree = read(DOCS / "architecture.md").partition("## The tree")[2].partition("\n## ")[0]
    parts = {path.name for path in (ROOT / "heedful").iterdir() if not path.name.startswith(("_", "py.typed"))}
    missing = [part for part in parts if part not in tree and f"{part}/" not in tree]
    assert missing == []
