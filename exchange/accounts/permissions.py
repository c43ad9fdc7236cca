"""Which role may change what: one table, asked by services, pages and the API alike.

Knows roles only; what belongs to which organisation is not decided here.
"""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from exchange.accounts.models import Role, User

Editable = Literal["party", "edge", "campaign", "booking", "api_key"]
Job = Literal["snapshot_build", "report_run"]

MAY_EDIT: dict[Role, frozenset[Editable]] = {
    Role.VIEWER: frozenset(),
    Role.ANALYST: frozenset(),
    Role.CAMPAIGN_MANAGER: frozenset({"campaign", "booking"}),
    Role.GRAPH_OPERATOR: frozenset({"party", "edge"}),
    Role.ADMIN: frozenset({"party", "edge", "campaign", "booking", "api_key"}),
}

MAY_START: dict[Role, frozenset[Job]] = {
    Role.VIEWER: frozenset(),
    Role.ANALYST: frozenset({"report_run"}),
    Role.CAMPAIGN_MANAGER: frozenset({"snapshot_build"}),
    Role.GRAPH_OPERATOR: frozenset({"snapshot_build"}),
    Role.ADMIN: frozenset({"snapshot_build", "report_run"}),
}

PLURALS: dict[Editable, str] = {
    "party": "parties",
    "edge": "edges",
    "campaign": "campaigns",
    "booking": "bookings",
    "api_key": "API keys",
}


def may_edit(user: User | AnonymousUser, kind: Editable) -> bool:
    return isinstance(user, User) and user.is_active and kind in MAY_EDIT[Role(user.role)]


def may_start(user: User | AnonymousUser, job: Job) -> bool:
    """Start by hand; what the schedule starts asks nobody."""
    return isinstance(user, User) and user.is_active and job in MAY_START[Role(user.role)]


def require_edit(user: User | AnonymousUser, kind: Editable) -> None:
    if not may_edit(user, kind):
        raise PermissionDenied(f"Your role may not change {PLURALS[kind]}. Ask an administrator.")
