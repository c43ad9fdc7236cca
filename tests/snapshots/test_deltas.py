"""Changes travel as deltas: in order, exactly once, whatever wrote them and whoever dies."""

from __future__ import annotations

import threading
from decimal import Decimal

import pytest
from django.db import connection, transaction

from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, Party
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots import deltas, market, services
from exchange.snapshots.activation import KEPT_SNAPSHOTS, activate, roll_back
from exchange.snapshots.deltas import DamagedLogError, ask_for_build, write_changes
from exchange.snapshots.drafting import MAX_REINSERTED
from exchange.snapshots.market import read_market
from exchange.snapshots.models import Change, DeltaLog, Quarantined, SnapshotBuild
from tests.snapshots.story import STARTS, Story, connect, run_campaign
from tests.snapshots.test_services import AMERICAN, build

GERMAN: dict[str, object] = {"geo.country": "DEU", "user.age": 30}
Status = SnapshotBuild.Status


class Server:
    """A server process's view of the directory, without the waiting."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self.service = EligibilityService(directory.root)

    def ask(self, visit: dict[str, object], publisher: str = "daily-herald") -> list[int]:
        self.service.refresh()
        answer = self.service.answer(publisher, visit).document()
        return [item["booking_id"] for item in answer["eligible"]]

    def item(self, publisher: str = "daily-herald") -> dict[str, object]:
        self.service.refresh()
        answer = self.service.answer(publisher, AMERICAN).document()
        first: dict[str, object] = answer["eligible"][0]
        return first

    @property
    def number(self) -> int:
        self.service.refresh()
        assert self.service.live
        return self.service.live.delta


@pytest.fixture
def server(story: Story, directory: SnapshotDirectory) -> Server:
    build()
    return Server(directory)


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


def test_nothing_new_writes_nothing(story: Story, server: Server) -> None:
    before = server.number
    assert write_changes() == 0
    Campaign.objects.create(advertiser=story.soda, name="Draft", expression="true")
    assert write_changes() == 0
    assert server.number == before


@pytest.mark.parametrize("change", [{"status": "paused"}, {"retired_at": "2026-01-01T00:00Z"}])
def test_campaign_that_ends_is_dead(story: Story, server: Server, change: dict[str, str]) -> None:
    Campaign.objects.update(**change)
    write_changes()
    assert server.ask(AMERICAN) == server.ask(AMERICAN, "evening-tribune") == []
    Campaign.objects.update(status="live", retired_at=None)
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]


def test_new_campaign_and_booking_are_served(story: Story, server: Server) -> None:
    winter = run_campaign(story.soda, "Winter", "geo.country = 'USA'")
    booked = Booking.objects.create(campaign=winter, publisher=story.herald)
    Booking.objects.filter(pk=story.at_tribune.pk).update(is_active=False)
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk, booked.pk]
    assert server.ask(AMERICAN, "evening-tribune") == []


def test_answers_are_in_order_of_net_cpm_also_among_changed_ones(
    story: Story, server: Server
) -> None:
    bids = {"Cheap": "1.00", "Dear": "9.00", "Like Summer": "5.00"}
    made = {}
    for name, bid in bids.items():
        campaign = run_campaign(story.soda, name, "true")
        Campaign.objects.filter(pk=campaign.pk).update(bid_cpm=Decimal(bid))
        made[name] = Booking.objects.create(campaign=campaign, publisher=story.herald).pk
    write_changes()
    expected = [made["Dear"], story.at_herald.pk, made["Like Summer"], made["Cheap"]]
    assert server.ask(AMERICAN) == expected
    build()
    assert server.ask(AMERICAN) == expected


def test_edge_is_redefined_whatever_the_number_of_bookings(story: Story, server: Server) -> None:
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(expression="user.age >= 40")
    write_changes()
    log = DeltaLog.objects.get()
    assert log.reinserted_count == 0
    assert server.ask(AMERICAN) == []
    assert server.ask({**AMERICAN, "user.age": 41}) == [story.at_herald.pk]


def test_cheapest_path_moves_with_the_graph(story: Story, server: Server) -> None:
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=False)
    write_changes()
    assert server.item()["path"] == ["daily-herald", "southgate", "solberg-soda"]
    assert server.ask(AMERICAN, "evening-tribune") == []
    connect(story.tribune, story.soda, "50", "true")
    write_changes()
    assert server.item("evening-tribune")["path"] == ["evening-tribune", "solberg-soda"]
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=True, fee_percent=1)
    write_changes()
    assert server.item()["net_cpm"] == 4.455
    assert server.item("evening-tribune")["path"] == [
        "evening-tribune",
        "northgate",
        "solberg-soda",
    ]


def test_fee_on_the_path_changes_what_is_left(story: Story, server: Server) -> None:
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(fee_percent=11)
    write_changes()
    assert server.item()["net_cpm"] == 3.56


def test_renamed_party_is_named_anew(story: Story, server: Server) -> None:
    Party.objects.filter(pk=story.northgate.pk).update(seller_id="north-gate")
    Party.objects.filter(pk=story.soda.pk).update(name="Solberg Limonade")
    write_changes()
    assert server.item()["path"] == ["daily-herald", "north-gate", "solberg-soda"]
    assert server.item()["advertiser"] == "Solberg Limonade"
    Party.objects.filter(pk=story.herald.pk).update(seller_id="herald")
    write_changes()
    assert server.ask(AMERICAN) == []
    assert server.ask(AMERICAN, "herald") == [story.at_herald.pk]


def test_audience_is_redefined_and_a_new_one_heals_who_waited(story: Story, server: Server) -> None:
    Campaign.objects.update(expression="@natives")
    write_changes()
    assert [row.has_good_form for row in Quarantined.objects.all()] == [True]
    assert server.ask(AMERICAN) == [story.at_herald.pk], "the last good form stays live"
    natives = Audience.objects.create(
        organisation=story.soda.organisation, name="natives", expression="geo.country = 'DEU'"
    )
    write_changes()
    assert not Quarantined.objects.exists()
    assert (server.ask(AMERICAN), server.ask(GERMAN)) == ([], [story.at_herald.pk])
    Audience.objects.filter(pk=natives.pk).update(expression="geo.country = 'USA'")
    write_changes()
    assert (server.ask(AMERICAN), server.ask(GERMAN)) == ([story.at_herald.pk], [])


def test_broken_expression_keeps_its_last_good_form_in_deltas_and_builds(
    story: Story, server: Server
) -> None:
    Campaign.objects.update(expression="geo.country = 'DEU'")
    write_changes()
    Campaign.objects.update(expression="shoe_size = 43", name="Broken")
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(expression="nonsense")
    for step in (write_changes, build):
        step()
        assert server.ask(GERMAN) == [story.at_herald.pk]
        assert server.ask({**GERMAN, "user.age": 3}) == []
        assert {row.kind for row in Quarantined.objects.all()} == {"campaign", "edge"}
    Campaign.objects.update(expression="geo.country = 'USA'")
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert {row.kind for row in Quarantined.objects.all()} == {"edge"}


def test_late_and_out_of_order_commits_are_each_taken_once(story: Story, server: Server) -> None:
    """The first transaction to begin is the last to commit; the log does not wait for it."""
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


def test_changes_during_a_build_are_beside_the_new_snapshot_when_it_goes_live(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_market

    def read_and_be_overtaken(**kwargs: object) -> object:
        market = read(**kwargs)  # type: ignore[arg-type]
        Campaign.objects.update(name="Overtaking")
        write_changes()
        assert server.item()["campaign"] == "Overtaking"
        return market

    before = server.number
    monkeypatch.setattr(services, "read_market", read_and_be_overtaken)
    done = build()
    assert server.item()["campaign"] == "Overtaking"
    assert server.service.live
    assert server.service.live.manifest.snapshot_id == done.snapshot_id
    assert server.number > before + 1
    assert write_changes() == 0


def test_build_folds_the_deltas_in(story: Story, server: Server) -> None:
    Campaign.objects.update(name="Winter")
    write_changes()
    number = server.number
    done = build()
    log = DeltaLog.objects.get()
    assert (log.reinserted_count, log.snapshot_id) == (0, done.snapshot_id)
    assert log.number > number, "numbers are never used again"
    assert server.item()["campaign"] == "Winter"
    assert server.service.live
    assert not server.service.live.changed


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
    assert {"Large", "Winter"} == names_of(server)
    assert DeltaLog.objects.get().deferred_count == 0


def names_of(server: Server) -> set[str]:
    server.service.refresh()
    answer = server.service.answer("daily-herald", AMERICAN).document()
    return {item["campaign"] for item in answer["eligible"]}


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


def test_new_attribute_waits_for_a_build(story: Story, server: Server) -> None:
    Attribute.objects.create(name="shoe_size", type="integer")
    Campaign.objects.update(expression="shoe_size = 43")
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    build()
    assert server.ask({**AMERICAN, "shoe_size": 43}) == [story.at_herald.pk]


def test_rolled_back_snapshot_is_served_as_it_was(story: Story, server: Server) -> None:
    first = SnapshotBuild.objects.get(status=Status.LIVE)
    Campaign.objects.update(name="Second")
    second = build()
    Campaign.objects.update(name="Third")
    write_changes()
    last = server.number
    roll_back(build=first)
    assert server.item()["campaign"] == "Summer"
    assert server.number > last
    assert write_changes() == 0, "what changed since is held back"
    assert DeltaLog.objects.get().is_held
    ready = build()
    assert ready.status == Status.READY, "a build does not end what somebody decided"
    assert server.item()["campaign"] == "Summer"
    activate(build=second)
    assert server.item()["campaign"] == "Third"
    Campaign.objects.update(name="Fourth")
    write_changes()
    assert server.item()["campaign"] == "Fourth"


def test_activation_whose_commit_failed_is_completed_by_the_next_writer(
    story: Story, server: Server
) -> None:
    first = SnapshotBuild.objects.get(status=Status.LIVE)
    Campaign.objects.update(name="Second")
    second = build()
    log = DeltaLog.objects.get()
    roll_back(build=first)
    # As if the transaction of the rollback had not been committed.
    SnapshotBuild.objects.filter(pk=first.pk).update(status=Status.REPLACED)
    SnapshotBuild.objects.filter(pk=second.pk).update(status=Status.LIVE)
    log.save()
    write_changes()
    assert SnapshotBuild.objects.get(status=Status.LIVE) == first
    assert DeltaLog.objects.get().is_held


def test_damaged_record_is_refused_and_the_old_state_goes_on(
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
    assert server.item()["campaign"] == "Summer"
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
    assert server.item()["campaign"] == "Summer"
    build()
    assert server.item()["campaign"] == "Second"
    assert server.number > log.number + 1


def test_changes_are_forgotten_once_every_kept_snapshot_has_seen_them(
    story: Story, server: Server
) -> None:
    for number in range(KEPT_SNAPSHOTS + 2):
        Campaign.objects.update(name=f"Summer {number}")
        build()
    assert 0 < Change.objects.count() <= KEPT_SNAPSHOTS


@pytest.fixture
def free(story: Story) -> Booking:
    """The Herald's booking takes any path."""
    Booking.objects.filter(pk=story.at_herald.pk).update(policy="any")
    return story.at_herald


def test_booking_on_any_path_sees_a_changed_fee_at_once(
    story: Story, free: Booking, server: Server
) -> None:
    assert server.item()["path"] == ["daily-herald", "northgate", "solberg-soda"]
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(fee_percent=Decimal("40"))
    write_changes()
    assert server.item()["path"] == ["daily-herald", "southgate", "solberg-soda"]
    assert server.item()["net_cpm"] == pytest.approx(5 * 0.85 * 0.8)
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_booking_on_any_path_takes_an_edge_that_is_new_and_leaves_one_that_was_closed(
    story: Story, free: Booking, server: Server
) -> None:
    direct = connect(story.herald, story.soda, "1", "geo.country = 'USA'")
    write_changes()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    Edge.objects.filter(pk=direct.pk).update(is_active=False)
    write_changes()
    assert server.item()["path"] == ["daily-herald", "northgate", "solberg-soda"]
    Edge.objects.filter(pk=direct.pk).update(is_active=True)
    Party.objects.filter(pk=story.soda.pk).update(name="Soda & Sons")
    write_changes()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    assert server.item()["advertiser"] == "Soda & Sons"
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_booking_on_any_path_that_had_none_is_served_once_there_is_one(
    story: Story, free: Booking, directory: SnapshotDirectory
) -> None:
    Edge.objects.filter(seller=story.herald).update(is_active=False)
    build()
    server = Server(directory)
    assert server.ask(AMERICAN) == []
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(is_active=True)
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]


def test_more_new_edges_than_the_snapshot_has_places_for_wait_for_a_build(
    story: Story, free: Booking, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(market, "SPARE_EDGES", 0)
    build()
    server = Server(directory)
    connect(story.herald, story.soda, "1", "true")
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(is_active=False)
    write_changes()
    assert server.item()["path"] == ["daily-herald", "southgate", "solberg-soda"]
    assert "places" in SnapshotBuild.objects.get(status=Status.QUEUED).reason
    build()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]


@pytest.mark.soak
def test_twenty_thousand_bookings_fit_and_one_more_starts_a_build(
    story: Story, directory: SnapshotDirectory
) -> None:
    """With the real limit: as many as a record may hold, then one more; then all at once."""
    campaigns = [
        Campaign(
            advertiser=story.soda,
            name=f"Campaign {number}",
            expression=f"user.age > {number}",
            status="live",
            starts_at=STARTS,
            bid_cpm=1,
        )
        for number in range(MAX_REINSERTED)
    ]
    Campaign.objects.bulk_create(campaigns)
    Booking.objects.bulk_create(
        Booking(campaign=campaign, publisher=story.tribune, advertiser=story.soda)
        for campaign in campaigns
    )
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
