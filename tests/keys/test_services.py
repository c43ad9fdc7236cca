from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from exchange.accounts.models import Organisation, Role
from exchange.accounts.ownership import NotVisible
from exchange.keys.models import ApiKey, Scope
from exchange.keys.services import create_api_key, hash_api_key, revoke_api_key
from exchange.market.models import Party
from tests.trading import Exchange, exchange

__all__ = ["exchange"]


def test_a_key_is_43_characters_after_its_prefix_and_never_the_same(
    operator: Organisation, herald: Party
) -> None:
    texts = {
        create_api_key(name=f"server {n}", organisation=operator, publishers=[herald])[1]
        for n in range(3)
    }
    assert len(texts) == 3
    assert all(re.fullmatch(r"tl_[A-Za-z0-9_-]{43}", text) for text in texts)


def test_only_the_hash_of_a_key_is_kept(operator: Organisation, herald: Party) -> None:
    key, text = create_api_key(name="ad server", organisation=operator, publishers=[herald])
    stored = ApiKey.objects.values().get(pk=key.pk)
    assert stored["hash"] == hashlib.sha256(text.encode()).hexdigest() == hash_api_key(text)
    assert text not in map(str, stored.values())
    assert list(key.publishers.all()) == [herald]


def test_a_key_needs_a_publisher(operator: Organisation) -> None:
    with pytest.raises(ValidationError, match="at least one publisher"):
        create_api_key(name="ad server", organisation=operator, publishers=[])


def test_a_key_names_publishers_only(operator: Organisation, herald: Party, soda: Party) -> None:
    with pytest.raises(ValidationError, match="Not a publisher: Solberg Soda"):
        create_api_key(name="ad server", organisation=operator, publishers=[herald, soda])
    assert not ApiKey.objects.exists()


def test_a_key_needs_a_name(operator: Organisation, herald: Party) -> None:
    with pytest.raises(ValidationError) as caught:
        create_api_key(name="", organisation=operator, publishers=[herald])
    assert "name" in caught.value.message_dict


def test_the_database_refuses_a_key_in_clear(operator: Organisation) -> None:
    with pytest.raises(IntegrityError, match="api_key_holds_a_hash"):
        make_row(operator, hash="tl_secret")


def test_the_database_refuses_unknown_scopes_and_none(operator: Organisation) -> None:
    for scopes in ([], ["everything"], ["eligibility:read", "everything"]):
        with (
            pytest.raises(IntegrityError, match="api_key_scopes_are_known"),
            transaction.atomic(),
        ):
            make_row(operator, scopes=scopes)


def test_the_database_refuses_a_key_without_end(operator: Organisation) -> None:
    with pytest.raises(IntegrityError, match="api_key_ends_within_a_year"):
        make_row(operator, expires_at=timezone.now() + timedelta(days=400))


def make_row(organisation: Organisation, **fields: Any) -> ApiKey:
    usual = {
        "name": "ad server",
        "organisation": organisation,
        "hash": "0" * 64,
        "scopes": ["eligibility:read"],
        "expires_at": timezone.now() + timedelta(days=1),
    }
    return ApiKey.objects.create(**(usual | fields))


def test_a_key_ends_after_half_a_year_unless_said_otherwise(
    operator: Organisation, herald: Party
) -> None:
    key, _ = create_api_key(name="ad server", organisation=operator, publishers=[herald])
    assert abs(key.expires_at - timezone.now() - timedelta(days=180)) < timedelta(minutes=1)


@pytest.mark.parametrize(("days", "message"), [(-1, "expired already"), (367, "366 days at most")])
def test_a_key_cannot_end_in_the_past_or_too_late(
    operator: Organisation, herald: Party, days: int, message: str
) -> None:
    expires_at = timezone.now() + timedelta(days=days)
    with pytest.raises(ValidationError, match=message):
        create_api_key(name="x", organisation=operator, publishers=[herald], expires_at=expires_at)


def test_a_key_for_reports_needs_no_publisher(operator: Organisation) -> None:
    key, _ = create_api_key(name="x", organisation=operator, scopes=[Scope.REPORTS_READ])
    assert key.scopes == ["reports:read"]


def test_only_the_exchange_downloads_snapshots(exchange: Exchange) -> None:
    with pytest.raises(ValidationError, match="everybody's targeting"):
        create_api_key(
            name="x", organisation=exchange.herald.organisation, scopes=[Scope.SNAPSHOT_READ]
        )


@pytest.mark.parametrize("role", Role)
def test_an_organisations_administrators_make_and_revoke_its_keys(
    exchange: Exchange, role: Role
) -> None:
    herald, by = exchange.herald, exchange.herald.people[role]
    fields: dict[str, Any] = {
        "name": "ad server",
        "organisation": herald.organisation,
        "publishers": [herald.party],
    }
    if role != Role.ADMIN:
        with pytest.raises(PermissionDenied):
            create_api_key(**fields, by=by)
        key, _ = create_api_key(**fields)
        with pytest.raises(PermissionDenied):
            revoke_api_key(key=key, by=by)
        return
    key, _ = create_api_key(**fields, by=by)
    assert key.created_by == by
    assert revoke_api_key(key=key, by=by)


def test_a_key_of_others_does_not_exist(exchange: Exchange) -> None:
    herald = exchange.herald
    fields: dict[str, Any] = {
        "name": "ad server",
        "organisation": herald.organisation,
        "publishers": [herald.party],
    }
    with pytest.raises(NotVisible):
        create_api_key(**fields, by=exchange.rival.admin)
    key, _ = create_api_key(**fields, by=exchange.operators[Role.ADMIN])
    with pytest.raises(NotVisible):
        revoke_api_key(key=key, by=exchange.rival.admin)


def test_a_key_names_publishers_of_its_organisation_only(exchange: Exchange) -> None:
    fields: dict[str, Any] = {"name": "ad server", "publishers": [exchange.herald.party]}
    with pytest.raises(ValidationError, match="publishers of its organisation"):
        create_api_key(**fields, organisation=exchange.rival.organisation, by=exchange.rival.admin)
    operators = exchange.operators[Role.ADMIN]
    assert operators.organisation is not None
    create_api_key(**fields, organisation=operators.organisation, by=operators)


def test_a_key_is_revoked_once_and_keeps_the_first_time(
    operator: Organisation, herald: Party
) -> None:
    key, _ = create_api_key(name="ad server", organisation=operator, publishers=[herald])
    assert revoke_api_key(key=key)
    first = key.revoked_at
    assert first is not None
    assert not revoke_api_key(key=key)
    assert key.revoked_at == first


def test_usable_keys_are_neither_revoked_nor_expired(operator: Organisation, herald: Party) -> None:
    now = timezone.now()
    for name, expires_at in {
        "lasting": None,
        "fresh": now + timedelta(days=1),
        "stale": now + timedelta(days=2),
        "revoked": None,
    }.items():
        create_api_key(name=name, organisation=operator, publishers=[herald], expires_at=expires_at)
    revoke_api_key(key=ApiKey.objects.get(name="revoked"))
    ApiKey.objects.filter(name="stale").update(expires_at=now)
    assert set(ApiKey.objects.usable(now).values_list("name", flat=True)) == {"lasting", "fresh"}


def test_a_new_key_and_a_revoked_one_are_published_after_commit(
    operator: Organisation,
    herald: Party,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    capture = django_capture_on_commit_callbacks
    with capture() as created:
        key, _ = create_api_key(name="ad server", organisation=operator, publishers=[herald])
    with capture() as revoked:
        revoke_api_key(key=key)
    with capture() as again:
        revoke_api_key(key=key)
    assert (len(created), len(revoked), len(again)) == (1, 1, 0)
