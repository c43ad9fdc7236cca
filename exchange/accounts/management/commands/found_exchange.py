"""Founds the exchange: its operator, and the first administrator, who invites everybody else.

Asks what it was not told, where somebody can answer. The password is typed, or chosen later with a
link that works once; it is never an option, which would stay in the history of a shell.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from exchange.accounts.founding import (
    AlreadyFoundedError,
    check_name,
    find_founded,
    found_exchange,
)
from exchange.environment import env_text


class Command(BaseCommand):
    help = "Make the organisation that runs the exchange, and its first administrator. Once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--organisation",
            default=env_text("TREELINE_FOUND_ORGANISATION"),
            help="who runs the exchange (or TREELINE_FOUND_ORGANISATION)",
        )
        parser.add_argument(
            "--username",
            default=env_text("TREELINE_FOUND_USERNAME"),
            help="the first administrator's login name (or TREELINE_FOUND_USERNAME)",
        )
        parser.add_argument(
            "--email",
            default=env_text("TREELINE_FOUND_EMAIL"),
            help="where their links are mailed, if mail is set up (or TREELINE_FOUND_EMAIL)",
        )
        parser.add_argument(
            "--link",
            action="store_true",
            help="print a link with which they choose a password, instead of asking for one",
        )
        parser.add_argument(
            "--url",
            default="",
            help="where people reach the pages, for the link; by default the first allowed host",
        )

    def handle(self, **options: Any) -> None:
        if founded := find_founded():
            raise CommandError(f"This exchange was founded already: {founded} runs it.")
        can_ask = sys.stdin.isatty()
        organisation = self._ask("name", "Organisation", options["organisation"], can_ask)
        username = self._ask("username", "Login name", options["username"], can_ask)
        password = self._ask_password() if can_ask and not options["link"] else None
        try:
            founder, secret = found_exchange(
                organisation=organisation,
                username=username,
                email=options["email"],
                password=password,
            )
        except AlreadyFoundedError as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stderr.write(f"{organisation} runs the exchange. {founder.username} administers it.")
        if secret is not None:
            self.stderr.write("Choose the password here, once, within 7 days:")
            base = options["url"].rstrip("/") or guess_url()
            self.stdout.write(base + reverse("password-link", args=[secret]))

    def _ask(self, field: str, label: str, given: str, can_ask: bool) -> str:
        while True:
            value = given or (input(f"{label}: ") if can_ask else "")
            try:
                return check_name(field, value)
            except ValidationError as error:
                complaint = f"{label}: {' '.join(error.messages)}"
                if given or not can_ask:
                    raise CommandError(complaint) from error
                self.stderr.write(complaint)

    def _ask_password(self) -> str | None:
        """Asks for a password; None for an empty one: a link is made instead."""
        while True:
            password = getpass("Password (empty for a link): ")
            if not password:
                return None
            try:
                validate_password(password)
            except ValidationError as error:
                self.stderr.write(" ".join(error.messages))
                continue
            if getpass("The same again: ") == password:
                return password
            self.stderr.write("They are not the same.")


def guess_url() -> str:
    scheme = "https" if settings.IS_PRODUCTION else "http"
    host = settings.ALLOWED_HOSTS[0] if settings.ALLOWED_HOSTS else "localhost"
    return f"{scheme}://{host}"
