"""Edits, pauses, closings, builds and rollbacks in any order, then a damaged directory and a server
that starts over it: nothing that is stopped is answered, nor what no published state had."""

from __future__ import annotations

import shutil
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from exchange.market.models import Booking, Campaign, Edge
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots import activation
from exchange.snapshots.activation import CannotActivateError, activate
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from exchange.snapshots.services import sweep
from tests.serving.history import (
    SNAPSHOT_DAMAGES,
    Damage,
    damage_manifest,
    flip_a_bit,
    live_folder,
    remove_manifest,
    remove_stops,
)
from tests.snapshots.test_state_machine import (
    VISITS,
    Exchange,
    Served,
    exchange,
    judge,
    numbers,
)

__all__ = ["exchange"]

Status = SnapshotBuild.Status
Eligible = set[tuple[str, int, int]]


def records(directory: SnapshotDirectory) -> list[Path]:
    log = DeltaLogFolder(directory, DeltaLog.objects.get().log_id)
    return sorted(log.folder.glob("[0-9]*.json"))


def unmap(directory: SnapshotDirectory) -> None:
    """Keeps the files of the server that runs in this process: what is truncated under a server
    kills it, which is tried with processes of their own (`test_recovery_restart`)."""
    for path in live_folder(directory).iterdir():
        aside = path.with_name(f".{path.name}")
        shutil.copy2(path, aside)
        aside.replace(path)


def flip_first_record(directory: SnapshotDirectory) -> None:
    for path in records(directory)[:1]:
        flip_a_bit(path)


def remove_last_record(directory: SnapshotDirectory) -> None:
    for path in records(directory)[-1:]:
        path.unlink()


def remove_two_snapshots(directory: SnapshotDirectory) -> None:
    SNAPSHOT_DAMAGES["folder removed"](directory)
    for snapshot_id in directory.snapshot_ids()[:1]:
        (directory.folder(snapshot_id) / "index.atree").unlink(missing_ok=True)


DAMAGES: dict[str, Damage] = {
    **SNAPSHOT_DAMAGES,
    "manifest damaged": damage_manifest,
    "manifest removed": remove_manifest,
    "bit of the first record": flip_first_record,
    "last record removed": remove_last_record,
    "two snapshots": remove_two_snapshots,
}


kinds = st.sampled_from(sorted(DAMAGES))


class DamagedExchange(Exchange):
    """After each damage the exchange is mended, by itself unless somebody went back. Blind is a
    damage that took the stops along, so that servers may not even notice: the sweep does."""

    is_vague: bool
    last_damage = ""
    recovered = 0

    def note(self) -> None:
        super().note()
        log = DeltaLog.objects.get()
        # What waits for a build is served as it was: in no state that the judge knows.
        waits = not log.is_held and bool(log.deferred_count or log.deferred)
        self.is_vague = getattr(self, "is_vague", False) or waits

    @initialize(kind=kinds)
    def choose_the_end(self, kind: str) -> None:
        self.last_damage = kind

    def teardown(self) -> None:
        super().teardown()
        if self.last_damage and hasattr(self, "server"):  # it was begun
            self.damage_and_restart(self.last_damage, False)

    @rule(which=numbers)
    def go_back(self, which: int) -> None:
        """Unless that snapshot is one of the damaged."""
        with suppress(CannotActivateError):
            super().go_back(which)

    @rule(which=numbers)
    def activate_again(self, which: int) -> None:
        with suppress(CannotActivateError):
            super().activate_again(which)

    @rule(kind=kinds, is_blind=st.sampled_from([False] * 5 + [True]))
    def damage_and_restart(self, kind: str, is_blind: bool) -> None:
        write_changes()
        self.note()
        directory = SnapshotDirectory(self.root)
        unmap(directory)
        DAMAGES[kind](directory)
        if is_blind:
            remove_stops(directory)
        started = EligibilityService(self.root)
        self.server.refresh()
        for server in (started, self.server):
            if server.live is not None and server.live.is_recovered:
                assert not is_blind
                type(self).recovered += 1
                self.answers_nothing_that_is_stopped(server)
        if is_blind or started.recovery is not None:
            self.mend(started)

    def answers_nothing_that_is_stopped(self, server: EligibilityService) -> None:
        running = Booking.objects.active().filter(campaign__in=Campaign.objects.live())
        may_be_served = set(running.values_list("pk", flat=True))
        open_edges = set(Edge.objects.active().values_list("seller__seller_id", "buyer__seller_id"))
        found: Eligible = set()
        for publisher, number in judge(self.texts):
            answer = server.answer(publisher, VISITS[number]).document()
            assert answer["warnings"]
            for item in answer["eligible"]:
                assert item["booking_id"] in may_be_served
                path = item["path"]
                assert open_edges.issuperset(pairwise(path))
                found.add((publisher, number, item["booking_id"]))
        if not self.is_vague:
            assert found <= self.ever_published()

    def ever_published(self) -> Eligible:
        states: list[Served] = [*self.truth.values(), *self.at_build.values()]
        return {
            (publisher, number, item["booking_id"])
            for state in states
            for (publisher, number), items in state.items()
            for item in items
        }

    def mend(self, server: EligibilityService) -> None:
        server.refresh()
        queued = SnapshotBuild.objects.filter(status=Status.QUEUED)
        before = set(queued.all())
        sweep()
        is_held = DeltaLog.objects.get().is_held
        if is_held:
            assert set(queued.all()) == before, "whoever went back is to end that"
        elif server.recovery is not None or server.live is None:
            assert queued.exists()
        self.build()
        if is_held:
            activate(build=SnapshotBuild.objects.latest("id"))
            self.note()
        server.refresh()
        assert server.recovery is None
        self.server = server


@pytest.fixture
def damaged(exchange: type[Exchange], monkeypatch: pytest.MonkeyPatch) -> type[DamagedExchange]:
    """Keeps few snapshots, so that some are collected."""
    monkeypatch.setattr(activation, "KEPT_SNAPSHOTS", 3)
    given = {
        name: getattr(exchange, name) for name in ("story", "last_edge_id", "root", "settings")
    }
    return type("Machine", (DamagedExchange,), {**given, "recovered": 0})


def run(machine: type[Exchange], *, examples: int, steps: int) -> None:
    """Runs without looking for a shorter way to what failed, which takes longer than the rest."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_server_that_starts_over_a_damage_recovers(damaged: type[DamagedExchange]) -> None:
    machine = damaged()
    machine.begin()
    machine.edit_campaign(1, "user.age >= 18", 2)
    machine.build()
    machine.damage_and_restart("folder removed", False)
    assert damaged.recovered > 0


def test_an_edge_closed_between_two_builds_is_closed_in_the_older_one(
    damaged: type[DamagedExchange],
) -> None:
    """Shows it though no record told of the edge."""
    machine = damaged()
    machine.begin()
    machine.change_graph(0, 5, False)
    machine.change_graph(1, 40, False)
    machine.build()
    machine.damage_and_restart("index removed", False)
    assert damaged.recovered > 0


def test_a_build_that_waits_when_somebody_goes_back_is_no_mending(
    damaged: type[DamagedExchange],
) -> None:
    machine = damaged()
    machine.begin()
    machine.edit_campaign(1, "user.age >= 18", 2)
    machine.write_what_little_fits(0)
    machine.go_back(0)
    assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    machine.damage_and_restart("manifest removed", False)


@pytest.mark.parametrize("went_back", [False, True], ids=["live", "held"])
@pytest.mark.parametrize(
    "damages",
    [
        [("manifest removed", True), ("folder removed", False)],
        [("index removed", False), ("two snapshots", True)],
        [("last record removed", True)],
    ],
    ids=["looks empty", "one snapshot after the other", "a record that nobody knows of"],
)
def test_what_servers_cannot_see_is_mended_too(
    damaged: type[DamagedExchange], damages: list[tuple[str, bool]], went_back: bool
) -> None:
    machine = damaged()
    machine.begin()
    if went_back:
        machine.go_back(0)
    machine.edit_audience("user.age >= 18")
    for kind, is_blind in damages:
        machine.damage_and_restart(kind, is_blind)
        machine.serves_the_truth()


def test_nothing_that_is_stopped_is_answered(damaged: type[DamagedExchange]) -> None:
    run(damaged, examples=10, steps=12)


@pytest.mark.soak
@pytest.mark.fuzzing
@pytest.mark.timeout(7_200)
def test_nothing_that_is_stopped_is_answered_for_long(damaged: type[DamagedExchange]) -> None:
    run(damaged, examples=60, steps=40)
    assert damaged.recovered > 0
