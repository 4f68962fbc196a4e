"""`heedful serve`: the live page, on which a person takes hold of the attention."""

import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from heedful.cli import command_options
from heedful.cli.audit_command import demonstration
from heedful.cli.command_options import argument, flag, open_store, option, use_threads
from heedful.cli.output import output
from heedful.errors import SettingError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST = "127.0.0.1"
BACKLOG = 128
"""Connections that wait until they are taken."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions(command_options.FolderOptions):
    """The options of `heedful serve`."""

    models: list[str] | None = argument(
        "Keys of finished runs (a unique prefix is enough), or Hugging Face classifiers, folders or hf:NAME. "
        "Without any: an average and a BiLSTM model on mock-1, trained first.",
        "[MODEL...]",
        default=None,
        autocompletion=command_options.runs,
    )
    port: int = option("On this machine alone; 0: any that is free.", default=8642, min=0, max=65535)
    opens: bool = flag("Open the page in the browser.", "--open")


def serve(options: ServeOptions) -> None:
    """Serve a local page: type a text, drag the weights of its words, and watch the prediction (not) move."""
    use_threads(1, options.device)
    from heedful.server.served import load_served

    printed, listening = output(), listen(options.port)
    with listening:
        names = options.models or _trained_demonstration(options)
        served = load_served(names, runs=options.runs, audits=options.audits, device=options.device)
        chosen = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        address = f"http://{HOST}:{chosen}/?token={token}"
        for model in served:
            printed.say(f"{model.info.id}  {model.info.name}")
            if model.info.guidance is None:
                printed.note(
                    "this model has no audit: `heedful audit` tells how often its attention points to key words."
                )
        printed.say(f"open {address}", "Ctrl-C ends it.")
        ids = [model.info.id for model in served]
        printed.end({"address": address, "port": chosen, "token": token, "models": ids}, result=address)
        sys.stdout.flush()
        from heedful.server.app import create_app

        application = create_app(served, token, chosen)
        with opened_in_browser(address) if options.opens else nullcontext():
            run_server(application, listening)


@contextmanager
def opened_in_browser(address: str) -> Iterator[None]:
    """Open the address in the browser, by a page that only this user can read and that is deleted at the end.

    The arguments of a process can be read by every user of the machine, and the address has the token.
    """
    import webbrowser

    with TemporaryDirectory(prefix="heedful-") as folder:
        page = Path(folder) / "open.html"
        page.touch(mode=0o600)
        page.write_text(
            '<!DOCTYPE html>\n<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Heedful</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
            f'<p><a href="{escape(address)}">Open the live page.</a></p>\n',
            encoding="utf-8",
        )
        webbrowser.open(page.as_uri())
        yield


def listen(port: int) -> socket.socket:
    """A socket on loopback that listens at that port; an error if the port is taken."""
    # asyncio turns off the delay of small packets (some 40 ms) only where the protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(BACKLOG)
        return listening
    except OSError as error:
        listening.close()
        reason = error.strerror or type(error).__name__
        raise SettingError(
            f"--port must be one that is free; {port} cannot be used: {reason}. Give another, or 0 for any free one."
        ) from error


def run_server(app: "ASGIApp", listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    from heedful.server.connections import server_of

    try:
        server_of(app).run(sockets=[listening])
    except KeyboardInterrupt:
        output().console.print("stopped.")


def _trained_demonstration(options: ServeOptions) -> list[str]:
    """The keys of the models that `heedful audit` demonstrates; trained now where they are not there."""
    from heedful.cli.progress import Bars, training_reporter
    from heedful.jobs.work import ensure

    store, keys = open_store(options, "runs"), []
    with Bars(output().progress) as bars:
        for run in demonstration(0):
            report = training_reporter(bars, f"{run.network.encoder}: ")
            keys.append(ensure(run, store, device=options.device, report=report)[0])
    return keys
