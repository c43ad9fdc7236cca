"""The role table, role by role, spelled out so that a change to it must be made twice."""

from __future__ import annotations

from typing import get_args

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from exchange.accounts.models import Role, User
from exchange.accounts.permissions import (
    MAY_EDIT,
    MAY_START,
    Job,
    may_edit,
    may_start,
    require_edit,
)
from exchange.kinds import KindName

EDITS: dict[str, set[KindName]] = {
    "alice": {"campaign", "booking", "audience", "value_list", "test_visit"},
    "bob": {"party", "edge", "audience", "value_list", "attribute"},
    "carol": set(),
    "dave": set(),
    "erin": {
        *("party", "edge", "campaign", "booking", "audience", "value_list", "test_visit"),
        *("attribute", "api_key", "person", "organisation"),
    },
}
STARTS: dict[str, set[Job]] = {
    "alice": {"snapshot_build"},
    "bob": {"snapshot_build"},
    "carol": {"report_run"},
    "dave": set(),
    "erin": {"snapshot_build", "report_run"},
}


@pytest.mark.parametrize("kind", get_args(KindName))
@pytest.mark.parametrize("name", EDITS)
def test_a_role_edits_what_the_table_says(
    name: str, kind: KindName, request: pytest.FixtureRequest
) -> None:
    assert may_edit(request.getfixturevalue(name), kind) is (kind in EDITS[name])


@pytest.mark.parametrize("job", get_args(Job))
@pytest.mark.parametrize("name", STARTS)
def test_a_role_starts_what_the_table_says(
    name: str, job: Job, request: pytest.FixtureRequest
) -> None:
    assert may_start(request.getfixturevalue(name), job) is (job in STARTS[name])


def test_every_role_is_in_both_tables() -> None:
    assert set(MAY_EDIT) == set(MAY_START) == set(Role)


def test_a_visitor_who_is_not_logged_in_edits_nothing() -> None:
    assert not any(may_edit(AnonymousUser(), kind) for kind in get_args(KindName))
    assert not any(may_start(AnonymousUser(), job) for job in get_args(Job))


def test_an_administrator_who_left_edits_nothing(erin: User) -> None:
    erin.is_active = False
    assert not may_edit(erin, "party")
    assert not may_start(erin, "report_run")


def test_a_refusal_says_what_was_refused_and_whom_to_ask(dave: User) -> None:
    with pytest.raises(PermissionDenied, match=r"may not change campaigns\. Ask an administrator"):
        require_edit(dave, "campaign")


@pytest.mark.django_db
def test_createsuperuser_makes_an_administrator() -> None:
    assert User.objects.create_superuser("root", password="long-enough-secret").role == Role.ADMIN
