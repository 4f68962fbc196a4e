"""What commands print and where: people, scripts, terminals that must not be steered."""

import json
import os
import subprocess
import sys
from threading import Event

import pytest
import typer
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from heedful.cli import app, data_commands, explain_failure
from heedful.cli.output import Output, output, with_output
from heedful.cli.progress import Bars, show_jobs
from heedful.errors import SettingError
from heedful.formatting import printable
from heedful.jobs.executors import Step
from heedful.jobs.running import SweepStatus


def invoke(command, *arguments):
    own = typer.Typer()
    own.command()(with_output(command))
    result = CliRunner().invoke(own, list(arguments))
    assert result.exception is None, result.exception
    return result


def say(word: str = "hello") -> None:
    out = output()
    out.console.print(f"for people: {word}", markup=False)
    out.note("worth knowing")
    out.end({"word": word, "share": float("nan"), "inner": [float("inf"), (1, "two")]}, result=f"result {word}")


def test_people_scripts_and_the_quiet_get_what_they_want():
    assert invoke(say).stdout == "for people: hello\nnote: worth knowing\n"
    result = invoke(say, "--json", "--word", "x")
    assert json.loads(result.stdout) == {"word": "x", "share": None, "inner": [None, [1, "two"]]}
    assert "for people: x" in result.stderr
    assert output() == Output(), "the output of one command is not that of the next"
    for flag in ("--quiet", "-q"):
        result = invoke(say, flag)
        assert (result.stdout, result.stderr) == ("result hello\n", "")


def test_every_command_takes_both():
    for command in (*app.registered_commands, *data_commands.app.registered_commands):
        result = CliRunner().invoke(
            app, [*(["data"] if command in data_commands.app.registered_commands else []), _name(command), "-h"]
        )
        assert "--json" in result.stdout, command
        assert "--quiet" in result.stdout, command


def _name(command):
    return command.name or command.callback.__name__


def test_control_characters_are_shown_and_not_sent():
    for hostile in ("\x1b[31mred", "bell\x07", "\x9b2J", "back\b\b", "‮drawkcab", "nul\x00", "￾"):
        assert hostile not in invoke(say, "--word", hostile).stdout
        assert printable(hostile) in invoke(say, "--quiet", "--word", hostile).stdout


def test_tables_show_control_characters_too():
    def show() -> None:
        table = Table("column")
        table.add_row("a\x1b]0;title\x07b")
        output().console.print(table)

    stdout = invoke(show).stdout
    assert r"a\x1b]0;ti" in stdout
    assert "\x1b" not in stdout


MANY = """
import sys
from heedful.cli.output import with_output, output
import typer
app = typer.Typer()
@app.command()
@with_output
def many() -> None:
    for number in range(20000):
        output().console.print(f"line {number}")
app()
"""


@pytest.mark.parametrize(("redirect", "code"), [("| head -1 > /dev/null", 0), ("> /dev/full", 1)])
def test_a_closed_pipe_is_no_error_and_a_full_device_is_said(redirect, code):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    shell = f'set -o pipefail; "{sys.executable}" -c "$SCRIPT" {redirect}'
    done = subprocess.run(["bash", "-c", shell], env={**os.environ, "SCRIPT": MANY}, capture_output=True, text=True)
    assert done.returncode == code
    assert "Exception ignored" not in done.stderr


def test_an_ascii_terminal_gets_what_it_can_show(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "HEEDFUL_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "heedful", "audit", "--set", "network.naïve–=1", "mock-1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no setting 'network.na" in done.stderr


def test_what_the_user_can_change_is_a_sentence_and_our_own_mistakes_are_not():
    for error, words in (
        (SettingError("this and that"), "this and that"),
        (MemoryError(), "out of memory. Reduce batch_size"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), "out of memory"),
        (OSError(28, "No space left on device", "runs/x"), "runs/x: No space left on device"),
    ):
        assert words in (explain_failure(error) or "")
    assert explain_failure(RuntimeError("shape mismatch")) is None


def test_progress_off_a_terminal_is_a_line_with_n_of_n_and_the_time_left():
    now = [0.0]
    bars = Bars(Console(stderr=True), get_time=lambda: now[0])
    task = bars.add_task("sst2: epoch 1 of 8", total=100)
    bars.add_task("reading data", total=None)
    now[0] = 30.0
    bars.update(task, completed=25)
    assert bars.lines() == ["sst2: epoch 1 of 8: 25 of 100, about 90 s left", "reading data"]
    bars.update(task, completed=100)
    assert bars.lines() == ["reading data"]


def test_the_lines_come_by_themselves_and_end_with_the_work(capsys):
    printed = Event()

    class Listening(Console):
        def print(self, *objects, **options):
            super().print(*objects, **options)
            printed.set()

    with Bars(Listening(stderr=True), every=0.01) as bars:
        task = bars.add_task("auditing", total=10)
        bars.advance(task)
        assert printed.wait(10)
    assert "auditing: 1 of 10" in capsys.readouterr().err


def test_jobs_under_way_done_and_failed_are_shown(capsys, monkeypatch):
    errors, shown = {}, []
    monkeypatch.setattr(Bars, "start", lambda self: shown.append(self))
    with show_jobs(Console(stderr=True), {"a": "first", "b": "second"}, errors, "run {}".format) as (report, progress):
        report(SweepStatus(cached=1, done=0, failed=0, running=2, left=2), None, None)
        progress(Step("a", "epoch 1 of 2", 1, 10))
        (bars,) = shown
        lines = [line.split(", about")[0] for line in bars.lines()]
        assert lines == ["all, in percent: 5 of 100", "first: epoch 1 of 2: 1 of 10"]
        report(SweepStatus(cached=1, done=1, failed=0, running=0, left=1), "a", None)
        (line,) = bars.lines()
        assert line.startswith("all, in percent (waiting for a worker): 50 of 100")
        progress(Step("b", "auditing", 3, 4))
        assert bars.lines()[0].startswith("all, in percent (waiting for a worker): 88 of 100")
        report(SweepStatus(cached=1, done=1, failed=1, running=0, left=0), "b", "it broke")
    said = capsys.readouterr().err
    assert "done   run a" in said and "failed second: it broke" in said and errors == {"b": "it broke"}
