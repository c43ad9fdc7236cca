"""Shows people a page when the one they asked for cannot be made."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader

RETRY_AFTER_SECONDS = 5


def show_server_error(_request: HttpRequest) -> HttpResponse:
    """Renders without the request: naming the user may be just what failed."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        page = loader.get_template("503.html").render()
        return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    return HttpResponse(loader.get_template("500.html").render(), status=500)
