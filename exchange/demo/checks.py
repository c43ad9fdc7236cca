"""Refuses a production database in which anybody could log in with a published password or key."""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from exchange.accounts.models import User
from exchange.keys.models import ApiKey

HINT = "Run: python manage.py disable_demo_access"


@register(Tags.database)
def check_demo_access(
    app_configs: Sequence[AppConfig] | None = None,  # noqa: ARG001, Django calls it so
    databases: Sequence[str] | None = None,
    **_: object,
) -> list[CheckMessage]:
    if not settings.IS_PRODUCTION:
        return []
    return [message for alias in databases or () for message in find_demo_access(alias)]


def find_demo_access(alias: str) -> list[CheckMessage]:
    tables = connections[alias].introspection.table_names()
    if not {User._meta.db_table, ApiKey._meta.db_table} <= set(tables):
        return []  # before the first migration
    messages: list[CheckMessage] = []
    people = User.objects.using(alias).filter(is_demo=True, is_active=True)
    if names := list(people.order_by("username").values_list("username", flat=True)):
        text = f"These accounts have a published password: {', '.join(names)}."
        messages.append(Error(text, hint=HINT, id="accounts.E001"))
    keys = ApiKey.objects.using(alias).demo().filter(revoked_at=None)
    if names := list(keys.order_by("name").values_list("name", flat=True)):
        text = f"These API keys belong to the demo: {', '.join(names)}."
        messages.append(Error(text, hint=HINT, id="accounts.E002"))
    return messages
