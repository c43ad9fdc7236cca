"""Gives every error of the REST API the shape of a problem document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from exchange.serving.problems import CONTENT_TYPE, ProblemError


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Handles exceptions for REST framework; None leaves our own bugs to Django."""
    if isinstance(error, ProblemError):
        problem, headers = error.document(), error.headers
        return Response(problem, status=error.status, headers=headers, content_type=CONTENT_TYPE)
    response = exception_handler(error, context)
    if response is None:
        return None
    response.data = describe(error, response)
    response.content_type = CONTENT_TYPE
    return response


def describe(error: Exception, response: Response) -> dict[str, object]:
    status = HTTPStatus(response.status_code)
    if isinstance(error, ValidationError):
        problem = ProblemError(status, "invalid_request", "The request is not as it should be.")
        return {**problem.document(), "errors": list(field_errors(error))}
    detail = response.data.get("detail", status.phrase)
    code = (detail.code if isinstance(detail, ErrorDetail) else None) or "error"
    return ProblemError(status, code, str(detail)).document()


def field_errors(error: ValidationError) -> list[dict[str, str]]:
    found = []
    details = error.detail if isinstance(error.detail, dict) else {"": error.detail}
    for name, messages in details.items():
        for message in messages:
            code = getattr(message, "code", "invalid")
            found.append({"pointer": f"/{name}", "code": code, "message": str(message)})
    return found


def misdirected(_request: HttpRequest, **_parts: str) -> HttpResponse:
    """Answers at the addresses of the ad servers' process, and says where that is."""
    problem = ProblemError(
        HTTPStatus.MISDIRECTED_REQUEST, "misdirected", f"Ad servers ask {settings.SERVING_URL}."
    )
    return HttpResponse(problem.body(), status=problem.status, content_type=CONTENT_TYPE)


def not_found(_request: HttpRequest, **_parts: str) -> HttpResponse:
    problem = ProblemError(HTTPStatus.NOT_FOUND, "not_found", "There is nothing at this address.")
    return HttpResponse(problem.body(), status=problem.status, content_type=CONTENT_TYPE)
