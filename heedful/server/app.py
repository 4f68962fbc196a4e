"""The web application: the page, its files, and its requests to the models."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import vl_convert
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, TypeAdapter
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from heedful.errors import HeedfulError
from heedful.report.heat_map import draw_svg
from heedful.server.actions import ACTIONS
from heedful.server.contract import (
    ActRequest,
    DecodeRequest,
    ModelInfo,
    PictureRequest,
    ReadRequest,
    SaveRequest,
    TextRequest,
)
from heedful.server.live_page import live_page, save_page
from heedful.server.security import REPORT_POLICY, Guard, refused
from heedful.server.served import ModelGone, ServedModel
from heedful.server.text_state import decode, heat_map_of, state_of
from heedful.subjects.checks import first_line
from heedful.subjects.read_text import ReadText

log = logging.getLogger(__name__)

PICTURES = {"svg": "image/svg+xml", "png": "image/png"}
_MODELS = TypeAdapter(list[ModelInfo])


class UnknownModel(HeedfulError):
    """A request names a model that is not served."""


STATUSES: dict[type[HeedfulError], int] = {UnknownModel: 404, ModelGone: 410}


def create_app(models: Sequence[ServedModel], token: str, port: int) -> FastAPI:
    """The application that serves these models, behind its guard.

    Args:
        token: token that the first request must carry.
        port: on which it will listen: requests for other hosts are refused.
    """
    app = FastAPI(title="Heedful", docs_url=None, redoc_url=None, openapi_url=None)
    served = {model.info.id: model for model in models}

    @app.get("/")
    def page() -> Response:
        content, policy = live_page()
        return HTMLResponse(content, headers={"content-security-policy": policy})

    @app.get("/api/models")
    def listed() -> Response:
        content = _MODELS.dump_json([model.info for model in served.values()])
        return Response(content, media_type="application/json")

    @app.get("/report/{name}")
    def report(name: str) -> Response:
        return answered(
            lambda: HTMLResponse(_find(served, name).report(), headers={"content-security-policy": REPORT_POLICY})
        )

    _add_texts(app, served)
    app.add_exception_handler(HTTPException, _refuse_path)
    app.add_exception_handler(RequestValidationError, _refuse_fields)
    app.add_middleware(Guard, token=token, port=port)
    return app


def _add_texts(app: FastAPI, served: dict[str, ServedModel]) -> None:
    """Add the requests about a text, and the files that can be saved of it."""

    @app.post("/api/read")
    def read(request: ReadRequest) -> Response:
        def answer(model: ServedModel, read: ReadText) -> Response:
            return _json(state_of(read, model.info.id, model.settings, is_quick=request.is_quick))

        return _ask(served, request, answer)

    @app.post("/api/decode")
    def decoded(request: DecodeRequest) -> Response:
        return _ask(served, request, lambda _, read: _json(decode(read, request.attention, request.word_attention)))

    @app.post("/api/act")
    def act(request: ActRequest) -> Response:
        action = ACTIONS[request.action]
        return _ask(served, request, lambda model, read: _json(action.function(read, request.options, model.read)))

    @app.post("/api/save")
    def save(request: SaveRequest) -> Response:
        def answer(model: ServedModel, read: ReadText) -> Response:
            page = save_page(read, model.info, model.settings, request.attention)
            return HTMLResponse(page, headers=_attached("heedful.html"))

        return _ask(served, request, answer)

    @app.post("/api/picture")
    def picture(request: PictureRequest) -> Response:
        def answer(_: ServedModel, read: ReadText) -> Response:
            kind, drawn = request.format, draw_svg(heat_map_of(read, request.attention))
            content = vl_convert.svg_to_png(drawn, scale=2.0) if kind == "png" else drawn
            return Response(content, media_type=PICTURES[kind], headers=_attached(f"attention.{kind}"))

        return _ask(served, request, answer)


def _ask(
    served: dict[str, ServedModel], request: TextRequest, answer: Callable[[ServedModel, ReadText], Response]
) -> Response:
    """Answer a request about a text with the model that it names."""

    def answer_now() -> Response:
        model = _find(served, request.model)
        with model.reading(request.text, request.query) as read:
            return answer(model, read)

    return answered(answer_now)


def answered(answer: Callable[[], Response]) -> Response:
    """The response, or an error as a sentence. Texts are never logged."""
    try:
        return answer()
    except HeedfulError as error:
        return refused(STATUSES.get(type(error), 400), str(error))
    except Exception as error:  # a model that fails must not take the server with it, whatever it raises
        log.debug("a request failed: %s", type(error).__name__)
        return refused(422, f"the model failed on this text: {type(error).__name__}: {first_line(error):.200}")


def _find(served: dict[str, ServedModel], name: str) -> ServedModel:
    if name not in served:
        raise UnknownModel(f"model must be one of {', '.join(served)}; it was {name!r:.60}. Load the page again.")
    return served[name]


def _json(content: BaseModel) -> Response:
    # Not by way of `json`, which writes NaN, or fails at it: pydantic writes null.
    return Response(content.model_dump_json(), media_type="application/json")


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


async def _refuse_path(request: Request, error: Any) -> Response:
    sentences = {404: "there is nothing at this address.", 405: "this method is not allowed here."}
    status = error.status_code if 400 <= error.status_code < 500 else 400
    return refused(status, sentences.get(status, "the body must be JSON; it could not be read."))


async def _refuse_fields(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return refused(400, "the body must be JSON; it could not be read.")
    field = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    given = first.get("input")
    was = "missing" if first["type"] == "missing" else f"{given!r:.60}"
    return refused(422, f"{field:.100} is not valid: {first['msg']:.200}. It was {was}.")
