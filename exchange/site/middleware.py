"""Gives every web request an id and security headers, and counts them."""

import re
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter

from exchange.logs import current_request_id

View = Callable[[HttpRequest], HttpResponse]

REQUEST_ID_HEADER = "X-Request-Id"
WELL_FORMED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
RESPONSES = Counter(
    "treeline_page_responses", "Answers to people and to the REST API, by status.", ["code"]
)


class RequestIdMiddleware:
    """Keeps a caller's well-formed request id, makes one otherwise, and gives it back."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request_id = given if WELL_FORMED_ID.fullmatch(given) else uuid.uuid4().hex
        token = current_request_id.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            current_request_id.reset(token)
        response[REQUEST_ID_HEADER] = request_id
        return response


class ResponseCountMiddleware:
    """Counts what people are answered with; what nothing caught is a 500 by then."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        RESPONSES.labels(str(response.status_code)).inc()
        return response


class ContentSecurityPolicyMiddleware:
    """Adds the policy that forbids inline script and everything from other hosts."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response
