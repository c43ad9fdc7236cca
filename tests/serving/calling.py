"""Calls the WSGI applications of serving in process, without a network."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from exchange.serving.endpoint import PATH
from tests.serving.asking import Reply
from tests.serving.published import HERALD_KEY

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def call(
    application: WSGIApplication,
    body: bytes,
    *,
    method: str = "POST",
    path: str = PATH,
    query: str = "",
    key: str | None = HERALD_KEY,
) -> Reply:
    statuses: list[str] = []
    headers: dict[str, str] = {}

    def start_response(status: str, given: list[tuple[str, str]], *_: object) -> Any:
        statuses.append(status)
        headers.update({name.lower(): value for name, value in given})

    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    if key is not None:
        environ["HTTP_AUTHORIZATION"] = f"Api-Key {key}"
    answer = b"".join(application(environ, start_response))
    return Reply(int(statuses[0].split()[0]), headers, answer)


def post(application: WSGIApplication, document: object, **options: Any) -> Reply:
    return call(application, json.dumps(document).encode(), **options)
