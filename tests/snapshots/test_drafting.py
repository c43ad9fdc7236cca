"""What a change touches: bookings again, dead ones, definitions; told by what servers answer."""

from __future__ import annotations

from decimal import Decimal

import pytest

from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, Party
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots import deltas, market
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import DeltaLog, Quarantined, SnapshotBuild
from tests.snapshots.steps import AMERICAN, GERMAN, Server, build
from tests.snapshots.story import Story, connect, run_campaign

Status = SnapshotBuild.Status


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


@pytest.mark.parametrize("policy", ["cheapest", "pinned"])
def test_bookings_of_paused_campaigns_do_not_make_a_change_too_large(
    policy: str, story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = [story.herald_to_northgate.pk, story.northgate_to_soda.pk]
    for name, status in (("Winter", "paused"), ("Spring", "live")):
        campaign = run_campaign(story.soda, name, "true")
        Campaign.objects.filter(pk=campaign.pk).update(status=status)
        Booking.objects.create(
            campaign=campaign,
            publisher=story.herald,
            policy=policy,
            pinned_edges=pins if policy == "pinned" else [],
        )
    Booking.objects.filter(pk__in=[story.at_herald.pk, story.at_tribune.pk]).update(is_active=False)
    build()
    for limit, expected in ((1, ["Spring"]), (0, [])):
        monkeypatch.setattr(deltas, "MAX_REINSERTED", limit)
        before = DeltaLog.objects.get().reinserted_count
        Edge.objects.filter(pk=story.herald_to_northgate.pk).update(fee_percent=5 + limit)
        write_changes()
        log = DeltaLog.objects.get()
        assert log.reinserted_count - before == len(expected)
        assert log.deferred_count == 1 - len(expected)
        assert server.names() == ["Spring"]


BROKEN = "shoe_size = 43"


@pytest.mark.parametrize("policy", ["pinned", "cheapest", "any"])
def test_edge_that_never_compiled_is_live_once_it_is_mended(
    policy: str, story: Story, directory: SnapshotDirectory
) -> None:
    direct = connect(story.herald, story.soda, "1", BROKEN)
    pins = [direct.pk] if policy == "pinned" else []
    Booking.objects.filter(pk=story.at_herald.pk).update(policy=policy, pinned_edges=pins)
    done = build()
    server = Server(directory)
    assert done.skipped_count == 0, "it waits for nothing but the edge"
    by_other_ways = [story.at_herald.pk] if policy == "any" else []
    assert server.ask(AMERICAN) == by_other_ways
    Edge.objects.filter(pk=direct.pk).update(expression="geo.country = 'USA'")
    write_changes()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    assert DeltaLog.objects.get().reinserted_count == 0
    assert not Quarantined.objects.exists()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


@pytest.mark.parametrize("policy", ["cheapest", "any"])
def test_new_edge_that_does_not_compile_is_live_once_it_is_mended(
    policy: str, story: Story, server: Server
) -> None:
    Booking.objects.filter(pk=story.at_herald.pk).update(policy=policy)
    direct = connect(story.herald, story.soda, "1", BROKEN)
    write_changes()
    assert server.ask(AMERICAN) == ([story.at_herald.pk] if policy == "any" else [])
    Edge.objects.filter(pk=direct.pk).update(expression="true")
    write_changes()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_edge_that_waited_for_an_audience_is_live_with_it(story: Story, server: Server) -> None:
    connect(story.herald, story.soda, "1", "@natives")
    write_changes()
    assert server.ask(AMERICAN) == []
    Audience.objects.create(
        organisation=story.herald.organisation, name="natives", expression="geo.country = 'USA'"
    )
    write_changes()
    assert server.item()["path"] == ["daily-herald", "solberg-soda"]
    assert server.ask(GERMAN) == []


def test_audience_with_an_attribute_that_servers_do_not_know_spoils_nothing(
    story: Story, server: Server
) -> None:
    """Spoils neither the record nor those that follow: a text with an unknown name would be
    refused."""
    Attribute.objects.create(name="shoe_size", type="integer")
    for name, text in (("tall", BROKEN), ("taller", "@tall and user.age > 3")):
        Audience.objects.create(organisation=story.soda.organisation, name=name, expression=text)
    winter = run_campaign(story.soda, "Winter", "@taller")
    Booking.objects.create(campaign=winter, publisher=story.herald)
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(expression=BROKEN)
    Campaign.objects.filter(pk=story.summer.pk).update(name="Autumn")
    write_changes()
    assert server.names() == ["Autumn"]
    assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    build()
    assert server.ask({**AMERICAN, "shoe_size": 43}) == [story.at_herald.pk, winter_booking(winter)]


def winter_booking(winter: Campaign) -> int:
    return Booking.objects.get(campaign=winter).pk


def test_new_value_of_an_attribute_is_live_at_once(story: Story, server: Server) -> None:
    audience = Attribute.objects.get(name="content.audience")
    assert "teens" not in audience.values
    Campaign.objects.update(expression="content.audience = 'teens'")
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk], "the last good form stays live"
    audience.values = [*audience.values, "teens"]
    audience.save()
    write_changes()
    assert server.ask(AMERICAN) == []
    assert server.ask({**AMERICAN, "content.audience": "teens"}) == [story.at_herald.pk]
    assert not Quarantined.objects.exists()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_new_attribute_waits_for_a_build(story: Story, server: Server) -> None:
    Attribute.objects.create(name="shoe_size", type="integer")
    Campaign.objects.update(expression="shoe_size = 43")
    write_changes()
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    build()
    assert server.ask({**AMERICAN, "shoe_size": 43}) == [story.at_herald.pk]


@pytest.fixture
def free(story: Story) -> Booking:
    """Lets the Herald's booking take any path."""
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
