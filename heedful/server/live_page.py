"""The live page, and one text of it saved as a page that works offline: the same template, with everything inside."""

from collections.abc import Sequence
from pathlib import Path
from secrets import token_urlsafe

from markupsafe import Markup

from heedful import __version__
from heedful.errors import DataError
from heedful.report.example_texts import embedded_json
from heedful.report.page import HERE, content_nonce, import_map, templates
from heedful.server.contract import ModelInfo, SavedPage
from heedful.server.text_state import state_of
from heedful.settings import AuditSettings
from heedful.subjects.read_text import ReadText
from heedful.verdict.answer_text import QUESTION

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)
"""Only scripts with the page's nonce can run; the addresses of its modules are their own content."""


def live_page() -> tuple[str, str]:
    """The page, and the policy to send with it."""
    nonce = token_urlsafe(16)
    policy = f"{POLICY.format(nonce)}; connect-src 'self'; frame-ancestors 'none'"
    return _rendered(nonce, "Heedful: drag the attention, delete the words", None), policy


def save_page(
    read: ReadText, model: ModelInfo, settings: AuditSettings, attention: Sequence[float] | None = None
) -> str:
    """The saved page; refused if the head is not linear, since the sliders would then need the model.

    Args:
        settings: settings that judge the text.
        attention: the weights on the sliders; None: the model's own.
    """
    if read.evidence.item_logits is None:
        raise DataError("This model is not linear after attention, so its sliders do not work offline. Save a picture.")
    if attention is not None:
        read.weights(attention)
    page = SavedPage(
        model=ModelInfo.model_validate({**dict(model), "examples": [], "actions": [], "guidance": None, "lines": ()}),
        text=read.text,
        query=read.query,
        reading=state_of(read, model.id, settings),
        attention=None if attention is None else list(attention),
        version=__version__,
    )
    payload = embedded_json(page.model_dump(mode="json"))
    return _rendered(content_nonce(payload), f"{read.text[:60]}{'…' if len(read.text) > 60 else ''}", payload)


def _rendered(nonce: str, title: str, payload: Markup | None) -> str:
    page = templates(STATIC).get_template("live.html")
    return page.render(
        nonce=nonce,
        policy=POLICY.format(nonce),
        title=title,
        payload=payload,
        question=QUESTION,
        live_style=Markup((STATIC / "live.css").read_text(encoding="utf-8")),
        scripts=import_map(HERE, STATIC),
    )
