"""A page that works offline: the text, what each item says, and the sliders, in one HTML file."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from heedful import __version__
from heedful.errors import DataError
from heedful.report.heat_map import embedded_json
from heedful.server.contract import ModelInfo, SavedPage
from heedful.server.text_state import state_of
from heedful.settings import AuditSettings
from heedful.subjects.read_text import ReadText

STATIC = Path(__file__).parent / "static"
MODULES = (
    "core.js",
    "format.js",
    "dom.js",
    "fader.js",
    "words.js",
    "maps.js",
    "outcome.js",
    "prediction.js",
    "state.js",
    "theme.js",
    "saved.js",
)
"""What the script of a saved page is made of, in this order."""
NAME = re.compile(r"[a-z][a-z_-]*\.js")
_IMPORT = re.compile(r"^import [^\n]*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:default )?(?=async |function|const|let|class)", re.MULTILINE)


def save_page(
    read: ReadText, model: ModelInfo, settings: AuditSettings, attention: Sequence[float] | None = None
) -> str:
    """The saved page; refused where the head is not linear, since only then the sliders need no model.

    Args:
        settings: by which the text is judged.
        attention: where the sliders stand; None: at the model's own.
    """
    if read.evidence.item_logits is None:
        raise DataError(
            "model must be linear after attention to be saved with working sliders; this one is not. Save a picture."
        )
    if attention is not None:
        read.weights(attention)
    bare = ModelInfo.model_validate({**dict(model), "examples": [], "actions": []})
    page = SavedPage(
        model=bare,
        text=read.text,
        query=read.query,
        reading=state_of(read, model.id, settings),
        attention=None if attention is None else list(attention),
        version=__version__,
    )
    script, style = Markup("".join(map(module, MODULES))), _content("page.css")
    environment = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("saved.html").render(
        title=f"{read.text[:60]}{'…' if len(read.text) > 60 else ''}",
        style=style,
        module=module,
        script=script,
        policy=_policy(script, style),
        payload=embedded_json(page.model_dump(mode="json")),
        version=__version__,
    )


def module(name: str) -> Markup:
    """The content of a module of the page, to stand in one script with others: without imports and exports."""
    if not NAME.fullmatch(name):
        raise DataError(f"name must be that of a script of the page, such as core.js; it is {name!r:.60}.")
    return Markup(_EXPORT.sub("", _IMPORT.sub("", _content(name))))


def _content(name: str) -> Markup:
    # Ours, not the user's: nothing in it needs to be escaped.
    return Markup((STATIC / name).read_text(encoding="utf-8"))


def _policy(script: str, style: str) -> str:
    """A content policy under which this script and this style alone may run."""
    hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
