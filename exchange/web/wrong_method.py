"""Shows a page to whoever opens the address of a form: a reload or a bookmark after the session's
end asks with GET for what only takes POST."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template import loader


class WrongMethodMiddleware:
    """Gives a body to answers that would be a blank page. The REST API writes its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            response.content = loader.get_template("405.html").render()
        return response
