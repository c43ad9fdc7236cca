"""A database whose keys are still rows of `accounts` goes on with all of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps.registry import Apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import User
from exchange.keys.models import ApiKey, Scope
from exchange.keys.services import create_api_key, hash_api_key, revoke_api_key
from exchange.market.models import Party
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots.keys import publish_keys

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = ("accounts", "0005_address_failures")
TEXT = "tl_a-key-that-an-ad-server-has-had-for-months"


@pytest.fixture
def before() -> Iterator[Apps]:
    """Gives the tables, and the models over them, as they were before keys had an app."""
    call_command("migrate", "keys", "zero", verbosity=0)
    call_command("migrate", *BEFORE, verbosity=0)
    state = MigrationExecutor(connection).loader.project_state(
        [BEFORE, ("market", "0009_values_named")]
    )
    yield state.apps
    call_command("migrate", verbosity=0)


def model(before: Apps, label: str) -> Any:
    """Models of the past, which no type checker knows."""
    return before.get_model(label)


def insert_key(before: Apps) -> tuple[int, datetime]:
    """Saves a key as version 0005 would have, with everything that a key can have."""
    organisation = model(before, "accounts.Organisation").objects.create(name="Herald House")
    person = model(before, "accounts.User").objects.create(
        username="hanna", organisation=organisation, role="admin"
    )
    publisher = model(before, "market.Party").objects.create(
        kind="publisher", name="Daily Herald", seller_id="daily-herald", organisation=organisation
    )
    used_at = timezone.now() - timedelta(hours=1)
    key = model(before, "accounts.ApiKey").objects.create(
        name="Frankfurt",
        organisation=organisation,
        created_by=person,
        hash=hash_api_key(TEXT),
        start=TEXT[:8],
        scopes=[Scope.ELIGIBILITY_READ, Scope.EXPLAIN_READ],
        expires_at=timezone.now() + timedelta(days=90),
        last_used_at=used_at,
    )
    key.publishers.add(publisher)
    return key.pk, used_at


def test_keys_are_there_after_the_move_and_go_on_working(
    before: Apps, settings: Settings, tmp_path: Path
) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    pk, used_at = insert_key(before)
    call_command("migrate", verbosity=0)

    key = ApiKey.objects.get(pk=pk)
    assert (key.name, key.organisation.name, key.last_used_at) == (
        "Frankfurt",
        "Herald House",
        used_at,
    )
    assert key.created_by == User.objects.get(username="hanna")
    assert [party.seller_id for party in key.publishers.all()] == ["daily-herald"]
    assert list(Party.objects.get(seller_id="daily-herald").api_keys.all()) == [key]

    publish_keys()
    entry = SnapshotDirectory(tmp_path).read_keys()[hash_api_key(TEXT)]
    assert (entry.publishers, entry.scopes) == (
        ("daily-herald",),
        ("eligibility:read", "explain:read"),
    )
    assert revoke_api_key(key=key)
    publish_keys()
    assert not SnapshotDirectory(tmp_path).read_keys()


def test_the_next_key_gets_the_next_number(before: Apps) -> None:
    pk, _ = insert_key(before)
    call_command("migrate", verbosity=0)
    old = ApiKey.objects.get(pk=pk)
    new, _ = create_api_key(
        name="Paris", organisation=old.organisation, publishers=list(old.publishers.all())
    )
    assert new.pk == pk + 1


def test_permissions_and_the_log_follow_the_content_type(before: Apps) -> None:
    insert_key(before)
    old = ContentType.objects.get(app_label="accounts", model="apikey")
    permission = Permission.objects.get(content_type=old, codename="view_apikey")
    User.objects.get(username="hanna").user_permissions.add(permission)
    call_command("migrate", verbosity=0)

    ContentType.objects.clear_cache()
    assert ContentType.objects.get_for_model(ApiKey).pk == old.pk
    assert not ContentType.objects.filter(app_label="accounts", model="apikey").exists()
    assert Permission.objects.filter(codename="view_apikey").count() == 1
    assert User.objects.get(username="hanna").has_perm("keys.view_apikey")


def test_keys_go_back_as_they_came(before: Apps) -> None:
    pk, _ = insert_key(before)
    call_command("migrate", verbosity=0)
    call_command("migrate", "keys", "zero", verbosity=0)
    call_command("migrate", *BEFORE, verbosity=0)
    assert model(before, "accounts.ApiKey").objects.get(pk=pk).publishers.count() == 1
    assert ContentType.objects.filter(app_label="accounts", model="apikey").count() == 1
    assert not ContentType.objects.filter(app_label="keys").exists()


def test_the_move_writes_no_sql_but_the_content_types(before: Apps) -> None:
    """Shows that it takes no lock on the keys, on a large table and under a running exchange."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan([("keys", "0001_keys_of_accounts")])
    assert [str(migration) for migration, _ in plan] == [
        "accounts.0006_keys_leave",
        "keys.0001_keys_of_accounts",
    ]
    statements = [line for line in executor.loader.collect_sql(plan) if not line.startswith("--")]
    assert [line for line in statements if line not in {"BEGIN;", "COMMIT;"}] == []
