"""Writes problem documents (RFC 9457), the one shape of every error that the API gives."""

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


def not_found(detail: str = "There is nothing at this address.") -> ProblemError:
    return ProblemError(HTTPStatus.NOT_FOUND, "not_found", detail)


def too_large(most: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        f"A request may have {most} bytes, not more.",
    )


def method_not_allowed(methods: tuple[str, ...]) -> ProblemError:
    allowed = ", ".join(methods)
    return ProblemError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "method_not_allowed",
        f"Ask with {allowed}.",
        headers={"Allow": allowed},
    )
