"""Problem documents (RFC 9457): the one shape of every error that the API gives."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

CONTENT_TYPE = "application/problem+json"


class ProblemError(Exception):
    """The caller's fault, or a passing state of ours; `code` is stable, `detail` is for people."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})

    def document(self) -> dict[str, object]:
        return {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "code": self.code,
            "detail": self.detail,
        }

    def body(self) -> bytes:
        return msgspec.json.encode(self.document())
