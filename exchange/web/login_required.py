"""Leads who is not logged in to the log-in, and from there to a page that can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme

SAFE_METHODS = frozenset({"GET", "HEAD"})


class LogInMiddleware(LoginRequiredMiddleware):
    """Leads a form that is sent after its session has ended back to the page where it stands: its
    own address may answer nothing but forms."""

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        page = request.headers.get("Referer", "")
        is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()})
        if request.method in SAFE_METHODS or not is_ours:
            return super().handle_no_permission(request, view_func)
        parts = urlsplit(page)
        address = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return redirect_to_login(address, self.get_login_url(view_func))
