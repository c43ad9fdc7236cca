"""Says which role may change what: one table, asked by services, pages and the API alike.

Knows roles only; what belongs to which organisation is not decided here.
"""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from exchange.accounts.models import Role, User
from exchange.kinds import KINDS, KindName

Job = Literal["snapshot_build", "report_run"]

MAY_EDIT: dict[Role, frozenset[KindName]] = {
    Role.VIEWER: frozenset(),
    Role.ANALYST: frozenset(),
    Role.CAMPAIGN_MANAGER: frozenset(
        {"campaign", "booking", "audience", "value_list", "test_visit"}
    ),
    Role.GRAPH_OPERATOR: frozenset({"party", "edge", "audience", "value_list", "attribute"}),
    Role.ADMIN: frozenset(KINDS),
}
MAY_START: dict[Role, frozenset[Job]] = {
    Role.VIEWER: frozenset(),
    Role.ANALYST: frozenset({"report_run"}),
    Role.CAMPAIGN_MANAGER: frozenset({"snapshot_build"}),
    Role.GRAPH_OPERATOR: frozenset({"snapshot_build"}),
    Role.ADMIN: frozenset({"snapshot_build", "report_run"}),
}


def is_exchange_operator(user: User | AnonymousUser) -> bool:
    """Tells whether a person sees everything, and changes what the role allows. The very first
    administrator has no organisation yet and must be able to make one."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_superuser or (user.organisation is not None and user.organisation.is_operator)


def may_edit(user: User | AnonymousUser, kind: KindName) -> bool:
    """Decides by role alone; whether it is theirs to edit is `ownership`'s to say."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if KINDS[kind].is_operators and not is_exchange_operator(user):
        return False
    return kind in MAY_EDIT[Role(user.role)]


def may_start(user: User | AnonymousUser, job: Job) -> bool:
    """Tells whether a person may start a job by hand; what the schedule starts asks nobody. Builds
    and reports cover everybody's market, so only the exchange's people do; a saved change starts
    its build by itself."""
    if not isinstance(user, User) or not is_exchange_operator(user):
        return False
    return job in MAY_START[Role(user.role)]


def require_edit(user: User | AnonymousUser, kind: KindName) -> None:
    if not may_edit(user, kind):
        raise PermissionDenied(
            f"Your role may not change {KINDS[kind].plural}. Ask an administrator."
        )
