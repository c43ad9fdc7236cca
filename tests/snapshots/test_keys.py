"""The keys that servers get: hashes of what is neither revoked nor expired."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key, revoke_api_key
from exchange.serving.directory import SnapshotDirectory, hash_key
from exchange.serving.eligibility import EligibilityService
from exchange.serving.key_use import KeyUse
from exchange.snapshots.keys import publish_keys, record_key_use
from tests.snapshots.story import Story


def make_key(story: Story, **options: object) -> tuple[ApiKey, str]:
    return create_api_key(
        name="Ad server",
        organisation=Organisation.objects.get(),
        publishers=[story.tribune, story.herald],
        **options,  # type: ignore[arg-type]
    )


def test_key_is_published_as_hash_with_its_publishers(
    story: Story, directory: SnapshotDirectory
) -> None:
    expires_at = timezone.now() + timedelta(days=1)
    _, text = make_key(story, expires_at=expires_at)
    assert publish_keys()
    entry = directory.read_keys()[hash_key(text)]
    assert entry.publishers == ("daily-herald", "evening-tribune")
    assert entry.expires_at == expires_at
    assert entry.scopes == ("eligibility:read",)
    assert not publish_keys()


def test_revoked_and_expired_keys_are_not_published(
    story: Story, directory: SnapshotDirectory
) -> None:
    revoked, _ = make_key(story)
    expired, _ = make_key(story)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    publish_keys()
    assert len(directory.read_keys()) == 1
    revoke_api_key(key=revoked)
    assert publish_keys()
    assert directory.read_keys() == {}


def test_demo_keys_are_published_only_where_demo_logins_are(
    story: Story, directory: SnapshotDirectory, settings: Settings
) -> None:
    make_key(story, is_demo=True)
    settings.DEMO_LOGINS = True
    publish_keys()
    assert len(directory.read_keys()) == 1
    settings.DEMO_LOGINS = False
    publish_keys()
    assert directory.read_keys() == {}


def test_when_a_key_was_used_comes_back_from_the_servers(
    story: Story, directory: SnapshotDirectory
) -> None:
    key, text = make_key(story)
    first, second = timezone.now() - timedelta(hours=1), timezone.now()
    servers = [KeyUse(directory.root), KeyUse(directory.root)]
    servers[0].note(hash_key(text), second.timestamp())
    servers[1].note(hash_key(text), first.timestamp())
    servers[1].note(hash_key("tl_forgotten"), first.timestamp())
    assert all(server.flush() for server in servers)
    assert record_key_use() == 1
    key.refresh_from_db()
    assert key.last_used_at == second
    assert record_key_use() == 0


def test_a_served_request_is_the_keys_last_use(story: Story, directory: SnapshotDirectory) -> None:
    key, text = make_key(story)
    publish_keys()
    service = EligibilityService(directory.root)
    service.admit(f"Api-Key {text}")
    assert service._key_use.flush()
    record_key_use()
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert abs(key.last_used_at - timezone.now()) < timedelta(minutes=1)
