"""What the shell offers at the tabulator: names that can be chosen, and keys of finished runs."""

import os
import subprocess
import sys

import typer
from typer.main import get_command

from heedful.cli import app, command_options
from heedful.models.encoders import ENCODERS
from heedful.papers import STUDIES
from heedful.training.methods import METHODS


def test_names_that_begin_so_are_offered_with_what_they_are():
    for kind, names in {"encoders": ENCODERS, "methods": METHODS, "studies": STUDIES, "datasets": ["mock-1"]}.items():
        offered = dict(command_options.names(kind)(""))
        assert set(names) <= set(offered)
        assert all(offered[name] for name in names)
    assert [name for name, _ in command_options.names("encoders")("bil")] == ["bilstm"]
    assert command_options.names("encoders")("nonsense") == []
    offered = [name for name, _ in command_options.names("tests")("permutation,erase_o")]
    assert offered == ["permutation,erase_one"]


def asked(options):
    context = typer.Context(get_command(app))
    context.params = options
    return context


def test_keys_of_finished_runs_are_offered(tmp_path):
    for name in ("abc123", "abd456", ".part-x"):
        (tmp_path / name).mkdir()
    (tmp_path / "abc123" / "run.json").touch()
    context = asked({"runs": str(tmp_path)})
    assert command_options.runs(context, "ab") == [("abc123", "")]


def test_what_goes_wrong_offers_nothing(tmp_path):
    context = asked({"runs": str(tmp_path / "nowhere")})
    assert command_options.runs(context, "") == []
    assert command_options.names("nonsense")("") == []


def test_the_shell_gets_them():
    environment = {
        **os.environ,
        "_HEEDFUL_COMPLETE": "complete_bash",
        "COMP_WORDS": "heedful train mock-1 --encoder bil",
        "COMP_CWORD": "4",
    }
    code = "import sys; sys.argv = ['heedful']; from heedful.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "bilstm" in done.stdout, done.stderr
