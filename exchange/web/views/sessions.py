"""Logging in. The demo's published logins are listed only where they work."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from exchange.accounts.models import User


class LogIn(LoginView):
    template_name = "login.html"
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A part of a page whose session has ended is told so; a login form inside it would lose
        what the person has typed around it."""
        if request.headers.get("HX-Request"):
            return HttpResponse(status=401)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(demo_people=find_demo_people(), **kwargs)


def find_demo_people() -> list[User]:
    if not settings.DEMO_LOGINS:
        return []
    people = User.objects.filter(is_demo=True, is_active=True).select_related("organisation")
    return list(people.order_by("id"))
