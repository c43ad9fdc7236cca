"""Tells whether this server is alive (`/healthz`) and may get traffic (`/readyz`).

A thread looks at the database, the broker and the queues every second, with time-outs; whoever asks
gets what it saw last, at once, whatever hangs.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from exchange.announcing import silent
from exchange.broker import QueueState, look_at_queues
from exchange.queues import QUEUES
from exchange.reports.freshness import Freshness, read_freshness
from exchange.serving.eligibility import service_for
from exchange.site.waits import probing
from exchange.snapshots.watching import Builds, BuildWatch

LOOK_EVERY_SECONDS = 1.0
# Longer than a look takes while everything that is looked at hangs.
STALE_SECONDS = 15.0
LOOKED_AT = ("database", "broker", "worker", "queues")


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment. `queues` is empty if the broker did not answer, `builds` and
    `reports` None if the database did not."""

    at: float
    parts: dict[str, str]
    queues: tuple[QueueState, ...]
    builds: Builds | None
    reports: Freshness | None


class Watch:
    """Looks every second. Thread-safe: `look` replaces one reference, others read it. Nobody else
    waits for what it finds hung (`announcing.silent`, `waits.hung`)."""

    def __init__(self) -> None:
        self._last: Look | None = None
        self._build_watch = BuildWatch()

    def start(self) -> None:
        threading.Thread(target=self._run, name="health-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.look()
            time.sleep(LOOK_EVERY_SECONDS)

    def look(self) -> None:
        database, builds, reports = look_at_database(self._build_watch)
        try:
            queues = tuple(look_at_queues())
        except redis.RedisError:
            silent.open()
            gone = dict.fromkeys(("broker", "worker", "queues"), "unreachable")
            parts = {"database": database, **gone}
            self._last = Look(time.monotonic(), parts, (), builds, reports)
            return
        silent.close()
        parts = {
            "database": database,
            "broker": "ok",
            "worker": describe_takers(queues),
            "queues": describe_waits(queues),
        }
        self._last = Look(time.monotonic(), parts, queues, builds, reports)

    def parts(self) -> dict[str, str]:
        """Says how each part is; nothing is ok that was not looked at lately."""
        look = self._last
        if look is None:
            return dict.fromkeys(LOOKED_AT, "not looked at yet")
        if (age := time.monotonic() - look.at) > STALE_SECONDS:
            return dict.fromkeys(LOOKED_AT, f"not looked at for {age:.0f} s")
        return look.parts

    def queues(self) -> tuple[QueueState, ...]:
        look = self._fresh()
        return () if look is None else look.queues

    def builds(self) -> Builds | None:
        look = self._fresh()
        return None if look is None else look.builds

    def reports(self) -> Freshness | None:
        look = self._fresh()
        return None if look is None else look.reports

    def _fresh(self) -> Look | None:
        look = self._last
        is_fresh = look is not None and time.monotonic() - look.at <= STALE_SECONDS
        return look if is_fresh else None


watch = Watch()


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Answers that the process lives. Touches nothing, so that an orchestrator restarts us only for
    our own faults."""
    return JsonResponse({"status": "alive"})


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answers whether this server is ready: whether eligibility is answered. It is answered from
    the snapshot alone, so a database, broker or worker that is away degrades a server and does not
    take it out of traffic. Late reports are told, and are no fault of a server."""
    service = service_for(settings.SNAPSHOT_DIR)
    live = service.live
    state = service.recovery or "ok" if live else "none loaded"
    parts = {**watch.parts(), "snapshot": state}
    is_whole = all(part == "ok" for part in parts.values())
    document: dict[str, object] = {
        "status": "not ready" if live is None else "ready" if is_whole else "degraded",
        "parts": parts,
    }
    if live is not None:
        document["snapshot_age_seconds"] = round(live.age_seconds(time.time()), 1)
    if (reports := watch.reports()) is not None:
        document["reports"] = {
            "counted_through": reports.counted_through and str(reports.counted_through),
            "is_late": reports.is_late,
        }
    return JsonResponse(document, status=503 if live is None else 200)


def look_at_database(build_watch: BuildWatch) -> tuple[str, Builds | None, Freshness | None]:
    """Looks whether the database answers, and what it says. One that answers and has no tables yet
    is there, and builds nothing."""
    try:
        with probing(), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()
        return "unreachable", None, None
    try:
        with probing():
            return "ok", build_watch.look(), read_freshness()
    except DatabaseError:
        connection.close()
        return "ok", None, None


def describe_takers(queues: tuple[QueueState, ...]) -> str:
    lonely = [queue.name for queue in queues if not queue.is_taken]
    return f"none for {', '.join(lonely)}" if lonely else "ok"


def describe_waits(queues: tuple[QueueState, ...]) -> str:
    """Names the queues whose first task waits longer than it should."""
    bounds = {queue.name: queue.longest_wait_seconds for queue in QUEUES}
    waits = {queue.name: queue.waiting_seconds() for queue in queues}
    late = [f"{name} wait for {s:.0f} s" for name, s in waits.items() if s > bounds[name]]
    return "; ".join(late) or "ok"
