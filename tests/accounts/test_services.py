from __future__ import annotations

import hashlib
import re
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from exchange.accounts.models import ApiKey, Organisation, User
from exchange.accounts.services import (
    create_api_key,
    disable_demo_access,
    hash_api_key,
    revoke_api_key,
)
from exchange.market.models import Party


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
        ApiKey.objects.create(name="ad server", organisation=operator, hash="tl_secret")


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
        "stale": now - timedelta(days=1),
        "revoked": None,
    }.items():
        create_api_key(name=name, organisation=operator, publishers=[herald], expires_at=expires_at)
    revoke_api_key(key=ApiKey.objects.get(name="revoked"))
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


def test_ending_demo_access_leaves_real_people_and_keys_alone(
    operator: Organisation, herald: Party, erin: User
) -> None:
    User.objects.create_user("viewer", organisation=operator, is_demo=True)
    real, _ = create_api_key(name="real", organisation=operator, publishers=[herald])
    create_api_key(name="demo", organisation=operator, publishers=[herald], is_demo=True)
    assert disable_demo_access() == (1, 1)
    assert disable_demo_access() == (0, 0)
    assert list(User.objects.filter(is_active=True)) == [erin]
    assert list(ApiKey.objects.usable(timezone.now())) == [real]
