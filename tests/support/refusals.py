"""Bad input on purpose: a command must refuse it in a sentence, soon, and leave nothing behind that looks finished."""

import time
from collections.abc import Sequence

from typer.testing import CliRunner

from heedful.cli import app, explain_failure

PATIENCE, LONGEST = 30.0, 300.0
"""Seconds of computing after which a refusal counts as a hang; and of waiting, on a machine however busy."""


def run_badly(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit code and all that was printed; what would end in a traceback fails here."""
    began, waited = time.process_time(), time.perf_counter()
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    computed, passed = time.process_time() - began, time.perf_counter() - waited
    assert computed < PATIENCE and passed < LONGEST, (
        f"{arguments} took {computed:.0f} s of computing, {passed:.0f} in all"
    )
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return result.exit_code, result.output
    problem = explain_failure(error) if isinstance(error, Exception) else None
    assert problem is not None, f"{arguments} ended in {error!r}"
    return 2, problem


def assert_refused(arguments: Sequence[str], *words: str) -> None:
    """The command ends with exit code 1 or 2 and a sentence, which has these words."""
    code, text = run_badly(arguments)
    assert code in (1, 2), f"{arguments} ended with exit code {code}: {text}"
    assert text.strip(), f"{arguments} says nothing"
    assert "Traceback" not in text
    for word in words:
        assert word in text, text
