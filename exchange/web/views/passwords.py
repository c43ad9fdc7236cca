"""Lets people choose a password by a link, and ask for one by mail, who are not logged in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from exchange.accounts.password_links import (
    LinkEndedError,
    choose_password,
    find_person,
    mail_links,
)


class ChosenPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Django's, with one short line of help instead of a list."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].label = "Password"
        self.fields["new_password1"].help_text = "At least 8 characters, and not a common one."
        self.fields["new_password2"].label = "The same again"
        self.fields["new_password2"].help_text = ""


class ForgottenForm(forms.Form):
    name = forms.CharField(
        label="Login name or e-mail address",
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )


@never_cache
@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest, secret: str) -> HttpResponse:
    """Shows the form of a link. Looking at it uses nothing up: programs that read mail look at
    every link."""
    try:
        person = find_person(secret)
        form = ChosenPasswordForm(person, request.POST or None)
        if request.method == "POST" and form.is_valid():
            choose_password(secret=secret, password=form.cleaned_data["new_password1"])
            messages.success(request, f"Your password is set. Log in as {person.username}.")
            return redirect("login")
    except LinkEndedError:
        context: dict[str, Any] = {"sends_links": bool(settings.EMAIL_HOST)}
        return render(request, "accounts/link_ended.html", context, status=404)
    context = {"form": form, "person": person}
    status = 422 if form.errors else 200
    return render(request, "accounts/link_password.html", context, status=status)


@never_cache
@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_link(request: HttpRequest) -> HttpResponse:
    """Says the same whether or not there is such a person."""
    if not settings.EMAIL_HOST:
        raise Http404("No mail is sent here.")
    form = ForgottenForm(request.POST or None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        mail_links(
            name=form.cleaned_data["name"].strip(),
            write_address=lambda secret: request.build_absolute_uri(
                reverse("password-link", args=[secret])
            ),
        )
    context = {"form": form, "is_sent": is_sent}
    status = 422 if form.errors else 200
    return render(request, "accounts/password_forgotten.html", context, status=status)
