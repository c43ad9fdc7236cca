"""The management command: builds now, shows how far it is, says what came of it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from exchange.market.models import Booking
from exchange.serving.directory import INDEX_FILE, SnapshotDirectory
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.models import Phase, SnapshotBuild
from exchange.snapshots.services import claim, has_readable_snapshot
from tests.snapshots.story import Story, run_campaign


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_names_each_phase_and_the_result(story: Story) -> None:
    out = StringIO()
    call_command("build_snapshot", stdout=out)
    lines = out.getvalue().splitlines()
    assert [line.removesuffix(" ..") for line in lines[:-1]] == [phase.label for phase in Phase]
    live = SnapshotBuild.objects.get(status=SnapshotBuild.Status.LIVE)
    assert lines[-1].startswith(f"Snapshot {live.snapshot_id} is live: 2 bookings, ")


def test_moves_a_bar_on_a_terminal(story: Story) -> None:
    out = Terminal()
    call_command("build_snapshot", stdout=out)
    bars = out.getvalue().split("\r")
    assert any("Reading the market" in bar and "  0 %" in bar for bar in bars)
    assert any("█" * 20 in bar for bar in bars)


def test_says_what_was_left_out_and_why(story: Story) -> None:
    broken = run_campaign(story.soda, "Broken", "shoe_size = 43")
    Booking.objects.create(campaign=broken, publisher=story.herald)
    out = StringIO()
    call_command("build_snapshot", stdout=out)
    assert "1 left out." in out.getvalue()
    assert "shoe_size" in out.getvalue()


def test_builds_if_needed_when_the_live_one_cannot_be_read(
    story: Story, directory: SnapshotDirectory
) -> None:
    """Shows what happens after an upgrade that reads another format of the index."""
    call_command("build_snapshot", if_needed=True, stdout=StringIO())
    call_command("build_snapshot", if_needed=True, stdout=StringIO())
    assert SnapshotBuild.objects.count() == 1
    live = SnapshotBuild.objects.get()
    index = directory.folder(live.snapshot_id) / INDEX_FILE
    index.write_bytes(b"of another version")
    call_command("build_snapshot", if_needed=True, stdout=StringIO())
    assert SnapshotBuild.objects.count() == 2
    assert has_readable_snapshot()


def test_follows_a_build_that_a_worker_took_first(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lets the first look at progress play the worker: by then its build has failed."""
    build = request_build()
    assert claim(build_id=build.pk)
    SnapshotBuild.objects.filter(pk=build.pk).update(
        status=SnapshotBuild.Status.FAILED, error="The disk is full."
    )
    monkeypatch.setattr(
        "exchange.snapshots.management.commands.build_snapshot.request_build", lambda: build
    )
    with pytest.raises(CommandError, match="The disk is full"):
        call_command("build_snapshot", stdout=StringIO())
