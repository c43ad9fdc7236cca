"""A database that came from a dump: its changes are numbered by a server that is gone."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection

from exchange.findings.models import CheckedUpTo
from exchange.market.models import Campaign
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots.changes import count_changes
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import Change, DeltaLog, SnapshotBuild
from tests.snapshots.steps import build, served_names
from tests.snapshots.story import Story

pytestmark = pytest.mark.django_db(transaction=True)

LATER = 10**12  # transactions


def bring_from_an_older_server() -> None:
    """Brings rows as a dump does: what was noted there lies in the future here, and so does what
    was served."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO snapshots_change (kind, object_id, xid) "
            "SELECT 'campaign', id, %s::text::xid8 FROM market_campaign",
            [LATER],
        )
    CheckedUpTo.objects.create(pk=1, position=f"{LATER}:{LATER}:")
    DeltaLog.objects.update(position=f"{LATER}:{LATER}:")


def waiting() -> int:
    return count_changes(DeltaLog.objects.get().position)


def test_without_settling_old_changes_wait_for_ever(story: Story) -> None:
    build()
    bring_from_an_older_server()
    build()
    for _ in range(2):
        write_changes()
        assert waiting() > 0


def test_without_settling_new_changes_are_not_seen(story: Story) -> None:
    build()
    bring_from_an_older_server()
    Change.objects.all().delete()
    Campaign.objects.update(name="After the restore")
    assert waiting() == 0


def test_settling_goes_on_from_a_build(story: Story, directory: SnapshotDirectory) -> None:
    before = build()
    bring_from_an_older_server()
    call_command("settle_restore", verbosity=0)
    assert waiting() == 0
    assert not CheckedUpTo.objects.exists()
    before.refresh_from_db()
    assert before.position == ""
    assert SnapshotBuild.objects.get(status="live").pk != before.pk
    Campaign.objects.update(name="After the restore")
    assert waiting() > 0
    write_changes()
    assert waiting() == 0
    assert set(served_names(directory)) == {"After the restore"}
