"""Changes travel as numbered records: in order, exactly once, whoever dies."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from exchange.market.models import Booking, Campaign, Edge
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots import deltas
from exchange.snapshots.deltas import DamagedLogError, ask_for_build, write_changes
from exchange.snapshots.drafting import MAX_REINSERTED
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from tests.snapshots.steps import AMERICAN, GERMAN, Server, build
from tests.snapshots.story import Story, run_campaign, run_many

Status = SnapshotBuild.Status


def test_changed_campaign_is_inserted_again(story: Story, server: Server) -> None:
    before = server.number
    Campaign.objects.update(expression="geo.country = 'DEU'", name="Winter")
    assert write_changes() == 1
    assert server.number == before + 1
    assert server.ask(AMERICAN) == []
    assert server.ask(GERMAN) == [story.at_herald.pk]
    Campaign.objects.update(expression="geo.country = 'USA'")
    write_changes()
    assert server.item()["campaign"] == "Winter"
    assert server.number == before + 2


def test_a_dearer_path_is_taken_by_those_whom_the_cheapest_one_is_too_long_for(
    story: Story, server: Server
) -> None:
    """Shows that nobody else's path moves with it."""
    Booking.objects.filter(pk=story.at_herald.pk).update(hop_limit=1)
    write_changes()
    assert server.ask(AMERICAN) == []
    direct = Edge.objects.create(seller=story.herald, buyer=story.soda, fee_percent=50)
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    Edge.objects.filter(pk=direct.pk).update(is_active=False)
    write_changes()
    assert server.ask(AMERICAN) == []


def test_nothing_new_writes_nothing(story: Story, server: Server) -> None:
    before = server.number
    assert write_changes() == 0
    Campaign.objects.create(advertiser=story.soda, name="Draft", expression="true")
    assert write_changes() == 0
    assert server.number == before


def test_late_and_out_of_order_commits_are_each_taken_once(story: Story, server: Server) -> None:
    """Lets the first transaction to begin be the last to commit; the log does not wait for it."""
    began, may_end = threading.Event(), threading.Event()

    def change_slowly() -> None:
        with transaction.atomic():
            Booking.objects.filter(pk=story.at_tribune.pk).update(is_active=False)
            began.set()
            may_end.wait(10)
        connection.close()

    slow = threading.Thread(target=change_slowly)
    slow.start()
    began.wait(10)
    Campaign.objects.update(name="Quick")
    write_changes()
    assert server.item()["campaign"] == "Quick"
    assert server.ask(AMERICAN, "evening-tribune") == [story.at_tribune.pk]
    may_end.set()
    slow.join()
    write_changes()
    assert server.ask(AMERICAN, "evening-tribune") == []
    assert write_changes() == 0


def test_record_of_a_writer_that_died_is_taken_over(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    before = server.number
    Campaign.objects.update(name="First")
    with monkeypatch.context() as patch:
        patch.setattr(deltas, "note_written", die)
        with pytest.raises(KeyboardInterrupt):
            write_changes()
    assert server.item()["campaign"] == "First"
    Campaign.objects.update(name="Second")
    write_changes()
    assert (server.item()["campaign"], server.number) == ("Second", before + 2)
    assert DeltaLog.objects.get().number == before + 2


def test_damaged_record_is_refused_and_the_old_state_goes_on_without_what_changed(
    story: Story, server: Server, directory: SnapshotDirectory
) -> None:
    before = server.number
    Campaign.objects.update(name="Second")
    log = DeltaLog.objects.get()
    write_changes()
    path = DeltaLogFolder(directory, log.log_id).path(log.number + 1)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert server.names() == []
    assert server.number == before
    build()
    assert server.item()["campaign"] == "Second"


def test_damaged_record_that_nobody_noted_starts_a_build(
    story: Story, server: Server, directory: SnapshotDirectory
) -> None:
    log = DeltaLog.objects.get()
    path = DeltaLogFolder(directory, log.log_id).path(log.number + 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half a rec")
    Campaign.objects.update(name="Second")
    with pytest.raises(DamagedLogError):
        write_changes()
    waiting = SnapshotBuild.objects.get(status=Status.QUEUED)
    assert "damaged" in waiting.reason
    assert server.names() == []
    build()
    assert server.item()["campaign"] == "Second"
    assert server.number > log.number + 1


def test_change_that_is_too_large_waits_for_a_build_and_says_so(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "MAX_REINSERTED", 1)
    winter = run_campaign(story.soda, "Winter", "true")
    Booking.objects.create(campaign=winter, publisher=story.herald)
    Campaign.objects.filter(pk=story.summer.pk).update(name="Large")
    write_changes()
    log = DeltaLog.objects.get()
    assert (log.reinserted_count, log.deferred_count) == (1, 2)
    assert log.deferred == [{"why": f"Campaign {story.summer.pk} changed.", "bookings": 2}]
    waiting = SnapshotBuild.objects.get(status=Status.QUEUED)
    assert waiting.reason == f"Campaign {story.summer.pk} changed."
    assert ask_for_build() is None, "one is on its way"
    build()
    assert {"Large", "Winter"} == set(server.names())
    assert DeltaLog.objects.get().deferred_count == 0


def test_paused_campaign_is_dead_at_once_however_large(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "MAX_REINSERTED", 0)
    Campaign.objects.update(status="paused")
    write_changes()
    assert server.ask(AMERICAN) == []
    assert DeltaLog.objects.get().deferred_count == 0


def test_bookings_that_wait_for_a_build_do_not_match_over_a_closed_edge(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "MAX_REINSERTED", 0)
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=False)
    write_changes()
    assert server.ask(AMERICAN) == server.ask(AMERICAN, "evening-tribune") == []
    build()
    assert server.item()["path"] == ["daily-herald", "southgate", "solberg-soda"]


@pytest.mark.soak
@pytest.mark.large
def test_twenty_thousand_bookings_fit_and_one_more_starts_a_build(
    story: Story, directory: SnapshotDirectory
) -> None:
    """Uses the real limit: as many as a record may hold, then one more; then all at once."""
    run_many(story.soda, [story.tribune], MAX_REINSERTED)
    build()
    waiting = SnapshotBuild.objects.filter(status=Status.QUEUED)
    server = Server(directory)
    Campaign.objects.filter(name__startswith="Campaign").update(bid_cpm=2)
    write_changes()
    log = DeltaLog.objects.get()
    assert (log.reinserted_count, log.deferred_count) == (MAX_REINSERTED, 0)
    assert not waiting.exists()
    Campaign.objects.filter(pk=story.summer.pk).update(name="One more")
    write_changes()
    assert server.item()["campaign"] == "One more", "it does not wait for the build"
    assert waiting.get().reason == "More than 20,000 bookings were changed since the last build."
    build()
    Campaign.objects.update(bid_cpm=3)
    write_changes()
    assert waiting.get().reason == "Very many rows (Campaign) were changed at once."
    build()
    assert server.item()["net_cpm"] == pytest.approx(3 * 0.9 * 0.8)
