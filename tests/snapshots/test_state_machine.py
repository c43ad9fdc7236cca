"""Edits, deltas, builds, rollbacks and restarts in any order: what is served under a number is what
the plain evaluator finds in what Postgres held then."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pytest_django import Settings

from exchange.market.catalog import load_catalog
from exchange.market.models import Audience, Booking, Campaign, Edge, Party
from exchange.routing import Graph, Path
from exchange.routing.policies import BrokenPathError, pin_path
from exchange.serving.eligibility import EligibilityService
from exchange.serving.visits import PUBLISHER
from exchange.snapshots import deltas, services
from exchange.snapshots.activation import activate, roll_back
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.changes import count_changes
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.market import Market, one_moment, read_market
from exchange.snapshots.models import Change, DeltaLog, Quarantined, SnapshotBuild
from exchange.snapshots.services import run_build
from targeting import parse
from tests.snapshots.story import Story, connect, run_campaign, tell

Served = dict[tuple[str, int], list[dict[str, Any]]]

GOOD = ["geo.country = 'USA'", "user.age >= 18", "not geo.country = 'USA'", "@young", "true"]
BROKEN = ["shoe_size = 43", "geo.country ="]
VISITS: list[dict[str, object]] = [
    {"geo.country": "USA", "user.age": 30},
    {"geo.country": "DEU", "user.age": 12},
    {"user.age": 20},
]
TIME = 1_800_000_000_000
Status = SnapshotBuild.Status
numbers = st.integers(min_value=0, max_value=3)


class Texts:
    """The last good text of everything, as a person would remember it."""

    def __init__(self) -> None:
        self.good: dict[tuple[str, int], str] = {}

    def keep(self, row: Campaign | Edge | Audience, text: str = "") -> str:
        key = (type(row).__name__, row.pk)
        text = text or row.expression
        if text not in BROKEN:
            self.good[key] = text
        return self.good[key]


def judge(texts: Texts) -> Served:
    """Judges who is eligible for what, without index, build or delta."""
    catalog = load_catalog()
    names = {
        audience.name: parse(texts.keep(audience), catalog) for audience in Audience.objects.all()
    }
    parties = Party.objects.in_bulk()
    edges = {
        edge.pk: parse(texts.keep(edge), catalog, definitions=names)
        for edge in Edge.objects.active()
    }
    graph = Graph(Edge.objects.active().as_links(), {pk: p.name for pk, p in parties.items()})
    served: Served = {
        (party.seller_id, number): []
        for party in parties.values()
        if party.kind == "publisher"
        for number in range(len(VISITS))
    }
    campaigns = {row.pk: row for row in Campaign.objects.live()}
    for campaign in campaigns.values():
        texts.keep(campaign)
    for booking in Booking.objects.active().filter(campaign__in=campaigns):
        campaign = campaigns[booking.campaign_id]
        publisher = parties[booking.publisher_id].seller_id
        own = parse(texts.keep(campaign), catalog, definitions=names)
        for number, visit in enumerate(VISITS):
            full = {**visit, PUBLISHER: publisher, "time": TIME}
            satisfied = {pk for pk, edge in edges.items() if edge.evaluate(full) is True}
            path = find_path(graph, booking, campaign.advertiser_id, satisfied)
            if path is not None and own.evaluate(full) is True:
                served[publisher, number].append(
                    {
                        "booking_id": booking.pk,
                        "campaign": campaign.name,
                        "advertiser": parties[campaign.advertiser_id].name,
                        "net_cpm": round(float(Fraction(campaign.bid_cpm) * path.net_share), 4),
                        "path": [parties[party_id].seller_id for party_id in path.party_ids],
                    }
                )
    for items in served.values():
        items.sort(key=lambda item: (-item["net_cpm"], item["booking_id"]))
    return served


def find_path(
    graph: Graph, booking: Booking, advertiser_id: int, satisfied: set[int]
) -> Path | None:
    """Finds the path that the booking asks for, if the visit satisfies all of its edges."""
    source = booking.publisher_id
    if booking.policy == "any":
        hops, allows = booking.hop_limit, satisfied.__contains__
        return graph.cheapest_paths(source, max_hops=hops, allows=allows).get(advertiser_id)
    if booking.policy == "cheapest":
        path = graph.cheapest_paths(source, max_hops=booking.hop_limit).get(advertiser_id)
    else:
        try:
            path = pin_path(
                graph, booking.pinned_edges, source, advertiser_id, max_hops=booking.hop_limit
            )
        except BrokenPathError:
            path = None
    return path if path is not None and satisfied.issuperset(path.edge_ids) else None


class Exchange(RuleBasedStateMachine):
    story: Story
    last_edge_id: int
    root: FilePath
    settings: Settings

    @initialize()
    def begin(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        restore(self.last_edge_id)
        self.texts = Texts()
        for row in (*Campaign.objects.all(), *Edge.objects.all(), *Audience.objects.all()):
            self.texts.keep(row)
        self.truth: dict[int, Served] = {}
        self.at_build: dict[int, Served] = {}
        self.late: Any = None
        self.build()
        self.server = EligibilityService(self.root)

    @rule(which=numbers, text=st.sampled_from([*GOOD, *BROKEN]), bid=st.integers(1, 9))
    def edit_campaign(self, which: int, text: str, bid: int) -> None:
        rows = list(Campaign.objects.order_by("id"))
        row = rows[which % len(rows)]
        Campaign.objects.filter(pk=row.pk).update(expression=text, bid_cpm=bid)
        self.texts.keep(row, text)

    @rule(which=numbers, status=st.sampled_from(["live", "live", "paused", "draft"]))
    def switch_campaign(self, which: int, status: str) -> None:
        rows = list(Campaign.objects.order_by("id"))
        Campaign.objects.filter(pk=rows[which % len(rows)].pk).update(status=status)

    @rule(which=st.integers(0, 5), text=st.sampled_from([*GOOD, *BROKEN]))
    def edit_edge(self, which: int, text: str) -> None:
        self.texts.keep(self.change_edge(which, expression=text), text)

    @rule(which=st.integers(0, 5), fee=st.sampled_from([0, 5, 40]), is_active=st.booleans())
    def change_graph(self, which: int, fee: int, is_active: bool) -> None:
        self.change_edge(which, fee_percent=fee, is_active=is_active)

    def change_edge(self, which: int, **values: object) -> Edge:
        rows = list(Edge.objects.order_by("id"))
        row = rows[which % len(rows)]
        Edge.objects.filter(pk=row.pk).update(**values)
        return row

    @rule(
        which=numbers,
        is_active=st.sampled_from([True, True, False]),
        policy=st.sampled_from(["pinned", "cheapest", "any", "any"]),
        hops=st.sampled_from([1, 2, 5, 5]),
    )
    def edit_booking(self, which: int, is_active: bool, policy: str, hops: int) -> None:
        """Hops that no booking asked for when the snapshot was built wait for the next one."""
        rows = list(Booking.objects.filter(campaign__in=self.campaigns()).order_by("id"))
        row = rows[which % len(rows)]
        row.is_active = is_active
        is_pinned = policy == "pinned" and row.publisher_id == self.story.herald.pk
        row.policy = "cheapest" if policy == "pinned" and not is_pinned else policy
        row.hop_limit = hops
        pins = [self.story.herald_to_northgate.pk, self.story.northgate_to_soda.pk]
        row.pinned_edges = pins if is_pinned else []
        row.save()

    @rule(seller=numbers, buyer=numbers, fee=st.sampled_from([0, 20]), text=st.sampled_from(GOOD))
    def add_edge(self, seller: int, buyer: int, fee: int, text: str) -> None:
        story = self.story
        ends = [story.herald, story.tribune, story.northgate, story.southgate]
        pair = ends[seller], [story.northgate, story.southgate, story.soda, story.soda][buyer]
        if pair[0] == pair[1]:
            return
        there = Edge.objects.filter(seller=pair[0], buyer=pair[1])
        if there.update(is_active=True, fee_percent=fee, expression=text) == 0:
            connect(*pair, str(fee), text)
        self.texts.keep(there.get())

    def campaigns(self) -> list[int]:
        """Lists all but the one that a late transaction works on."""
        return list(Campaign.objects.exclude(name="Late").values_list("pk", flat=True))

    @rule(text=st.sampled_from(GOOD[:3]))
    def edit_audience(self, text: str) -> None:
        Audience.objects.update(expression=text)

    @rule(which=numbers, name=st.sampled_from(["Alpha", "Omega"]))
    def rename_party(self, which: int, name: str) -> None:
        rows = [self.story.northgate, self.story.southgate, self.story.soda, self.story.herald]
        new = f"{name} {which}"
        Party.objects.filter(pk=rows[which].pk).update(name=new)

    @precondition(lambda self: self.late is None)
    @rule(is_active=st.booleans())
    def begin_late(self, is_active: bool) -> None:
        """Begins a transaction long before it commits."""
        self.late = connection.get_new_connection(connection.get_connection_params())
        self.late.autocommit = False
        with self.late.cursor() as cursor:
            cursor.execute(
                "UPDATE market_booking SET is_active = %s WHERE campaign_id ="
                " (SELECT id FROM market_campaign WHERE name = 'Late')",
                [is_active],
            )

    @precondition(lambda self: self.late is not None)
    @rule()
    def commit_late(self) -> None:
        self.late.commit()
        self.late.close()
        self.late = None

    @rule()
    def write(self) -> None:
        write_changes()
        self.note()

    @rule(limit=st.integers(0, 1))
    def write_what_little_fits(self, limit: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deltas, "MAX_REINSERTED", limit)
            write_changes()
        self.note()

    @rule()
    def build(self) -> None:
        self.run_build(lambda: None)

    @rule(which=numbers, text=st.sampled_from(GOOD))
    def build_and_be_overtaken(self, which: int, text: str) -> None:
        self.run_build(lambda: self.edit_campaign(which, text, 3))

    def run_build(self, overtake: Any) -> None:
        def read(**kwargs: Any) -> Market:
            market = read_market(**kwargs)
            self.at_read = judge(self.texts)
            overtake()
            return market

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(services, "read_market", read)
            build = request_build()
            assert run_build(build_id=build.pk)
        build.refresh_from_db()
        self.at_build[build.pk] = self.at_read
        assert build.status in {Status.LIVE, Status.READY}, build.error
        self.note()

    @rule(which=numbers)
    def go_back(self, which: int) -> None:
        builds = [build for build in SnapshotBuild.objects.all() if build.snapshot_id]
        build = builds[min(which, len(builds) - 1)]
        roll_back(build=build)
        self.truth[DeltaLog.objects.get().number] = self.at_build[build.pk]

    @rule(which=numbers)
    def activate_again(self, which: int) -> None:
        builds = [build for build in SnapshotBuild.objects.all() if build.snapshot_id]
        activate(build=builds[min(which, len(builds) - 1)])
        self.note()

    @rule()
    def restart_server(self) -> None:
        self.server = EligibilityService(self.root)

    def note(self) -> None:
        """Notes the truth while nothing else runs: what Postgres holds now is what it held for the
        last record."""
        log = DeltaLog.objects.get()
        if log.is_held:
            return
        with one_moment():
            assert count_changes(log.position) == 0
        running = Booking.objects.active().filter(campaign__in=Campaign.objects.live())
        self.may_be_served = set(running.values_list("pk", flat=True))
        if log.deferred_count or log.deferred:
            assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
            self.truth.pop(log.number, None)
            return
        now = judge(self.texts)
        assert self.truth.setdefault(log.number, now) == now

    @invariant()
    def serves_the_truth(self) -> None:
        if not self.truth:
            return
        self.server.refresh()
        assert self.server.live
        assert self.server.live.delta == DeltaLog.objects.get().number
        expected = self.truth.get(self.server.live.delta)
        if expected is None:
            self.serves_nothing_that_is_over()
        else:
            assert self.ask(expected) == expected

    def serves_nothing_that_is_over(self) -> None:
        """Checks that while a change waits for a build, a booking may be answered as it was, but
        none that ended: what was switched off was so when the last record was written, or is
        since."""
        asked = self.ask({key: [] for key in next(iter(self.truth.values()))})
        served = {item["booking_id"] for items in asked.values() for item in items}
        assert served <= self.may_be_served

    def ask(self, expected: Served) -> Served:
        answers: Served = {}
        for publisher, number in expected:
            answer = self.server.answer(publisher, VISITS[number]).document()
            keys = ("booking_id", "campaign", "advertiser", "net_cpm", "path")
            found = [{key: item[key] for key in keys} for item in answer["eligible"]]
            found.sort(key=lambda item: (-item["net_cpm"], item["booking_id"]))
            answers[publisher, number] = found
        return answers

    def teardown(self) -> None:
        if getattr(self, "late", None) is not None:
            self.commit_late()


def restore(last_edge_id: int) -> None:
    """Restores the story as it was told, with less work than telling it anew."""
    for table in (Change, DeltaLog, Quarantined, SnapshotBuild):
        table._default_manager.all().delete()
    Edge.objects.update(expression="true", fee_percent=10, is_active=False)
    Edge.objects.filter(pk__lte=last_edge_id).update(is_active=True)
    Campaign.objects.update(expression="geo.country = 'USA'", status="live", bid_cpm=5)
    Booking.objects.update(is_active=True, policy="cheapest", pinned_edges=[], hop_limit=5)
    Audience.objects.update(expression="user.age < 18")


@pytest.fixture
def exchange(transactional_db: None, settings: Settings) -> Iterator[type[Exchange]]:
    story = tell()
    connect(story.tribune, story.southgate, "5", "true")
    Audience.objects.create(
        organisation=story.soda.organisation, name="young", expression="user.age < 18"
    )
    for name in ("Winter", "Late"):
        campaign = run_campaign(story.soda, name, "true")
        Booking.objects.create(campaign=campaign, publisher=story.tribune)
    root = FilePath(tempfile.mkdtemp(prefix="treeline-machine-"))
    settings.SNAPSHOT_DIR = root
    last_edge_id = Edge.objects.latest("id").pk
    given = {"story": story, "last_edge_id": last_edge_id, "root": root, "settings": settings}
    yield type("Machine", (Exchange,), given)
    shutil.rmtree(root, ignore_errors=True)


def run(machine: type[Exchange], *, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_what_is_served_is_what_postgres_held(exchange: type[Exchange]) -> None:
    run(exchange, examples=6, steps=20)


@pytest.mark.soak
@pytest.mark.fuzzing
@pytest.mark.timeout(7_200)  # it takes 7 minutes on a machine that does nothing else
def test_what_is_served_is_what_postgres_held_for_long(exchange: type[Exchange]) -> None:
    run(exchange, examples=60, steps=40)
