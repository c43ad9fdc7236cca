"""Owns the people of the tests, one per role, so that a permission test reads as a story.

Alice manages campaigns, Bob operates the graph, Carol analyses, Dave looks, Erin administers; all
work for the exchange's operator. A folder of tests imports those that it uses in its conftest.
"""

from __future__ import annotations

import pytest

from exchange.accounts.models import Organisation, Role, User


def hire(name: str, role: Role, organisation: Organisation) -> User:
    """Makes a user without a password, whose hash would be the slowest part of most tests; log in
    by `force_login`."""
    return User.objects.create_user(name, role=role, organisation=organisation)


@pytest.fixture
def operator(db: None) -> Organisation:
    """Makes the organisation that runs the exchange."""
    return Organisation.objects.create(name="Treeline Exchange", is_operator=True)


@pytest.fixture
def alice(operator: Organisation) -> User:
    return hire("alice", Role.CAMPAIGN_MANAGER, operator)


@pytest.fixture
def bob(operator: Organisation) -> User:
    return hire("bob", Role.GRAPH_OPERATOR, operator)


@pytest.fixture
def carol(operator: Organisation) -> User:
    return hire("carol", Role.ANALYST, operator)


@pytest.fixture
def dave(operator: Organisation) -> User:
    return hire("dave", Role.VIEWER, operator)


@pytest.fixture
def erin(operator: Organisation) -> User:
    return hire("erin", Role.ADMIN, operator)
