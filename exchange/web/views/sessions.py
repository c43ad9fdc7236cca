"""Lets people log in, and change their password. The demo's published logins are listed only where
they work."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy

from exchange.accounts.addresses import SlowedError, remember, take_turn
from exchange.accounts.models import User
from exchange.accounts.throttling import show_slow_down
from exchange.demo.access import PASSWORD


class LogIn(LoginView):
    template_name = "login.html"
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Tells a part of a page that its session has ended; a login form inside it would lose what
        the person has typed around it."""
        if request.headers.get("HX-Request"):
            return HttpResponse(status=401)
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Logs in and counts failures, but not what was unheard because the name is locked."""
        if not request.POST.get("username") or not request.POST.get("password"):
            return super().post(request, *args, **kwargs)
        try:
            turn = take_turn(request)
        except SlowedError as error:
            return show_slow_down(request, error.seconds)
        answer = super().post(request, *args, **kwargs)
        is_right = request.user.is_authenticated
        if turn and (is_right or getattr(request, "axes_locked_out", False)):
            turn.give_back()
        if is_right:
            remember(answer, request.POST["username"])
        return answer

    def get_form(self, form_class: type[AuthenticationForm] | None = None) -> AuthenticationForm:
        form = super().get_form(form_class)
        form.fields["username"].label = "Login name"
        return form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        people = find_demo_people()
        kwargs["demo_password"] = PASSWORD if people else ""
        kwargs["sends_links"] = bool(settings.EMAIL_HOST)
        return super().get_context_data(demo_people=people, **kwargs)


class NewPasswordForm(PasswordChangeForm):
    """Django's, with one short line of help instead of a list."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = "At least 8 characters, and not a common one."
        self.fields["new_password2"].label = "New password again"
        self.fields["new_password2"].help_text = ""


class ChangePassword(PasswordChangeView):
    """Other sessions of the person end with the old password; this one goes on."""

    form_class = NewPasswordForm
    template_name = "accounts/password_form.html"
    success_url = reverse_lazy("dashboard")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if getattr(request.user, "is_demo", False):
            raise PermissionDenied("The demo's passwords are published and stay as they are.")
        answer = super().dispatch(request, *args, **kwargs)
        assert isinstance(answer, HttpResponse)  # noqa: S101 - what every form view answers
        return answer

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Your password is changed.")
        return super().form_valid(form)

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


def find_demo_people() -> list[User]:
    if not settings.DEMO_LOGINS:
        return []
    people = User.objects.filter(is_demo=True, is_active=True).select_related("organisation")
    return list(people.order_by("id"))
