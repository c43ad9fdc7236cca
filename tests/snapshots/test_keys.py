"""The keys that servers get: hashes of what is neither revoked nor expired."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import ApiKey, Organisation
from exchange.accounts.services import create_api_key, revoke_api_key
from exchange.serving.directory import SnapshotDirectory, hash_key
from exchange.snapshots.keys import publish_keys
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
    assert not publish_keys()


def test_revoked_and_expired_keys_are_not_published(
    story: Story, directory: SnapshotDirectory
) -> None:
    revoked, _ = make_key(story)
    make_key(story, expires_at=timezone.now() - timedelta(seconds=1))
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
