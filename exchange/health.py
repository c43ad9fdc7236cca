"""Whether this server is alive (`/healthz`) and may get traffic (`/readyz`)."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from exchange.celery import app
from exchange.serving.eligibility import service_for

BROKER_TIMEOUT_SECONDS = 1.0
WORKER_TIMEOUT_SECONDS = 0.5


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Touches nothing, so that an orchestrator restarts us only for our own faults."""
    return JsonResponse({"status": "alive"})


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Ready means: eligibility is answered. It is answered from the snapshot alone, so a database,
    broker or worker that is away degrades a server and does not take it out of traffic."""
    parts = {name: check() for name, check in CHECKS.items()}
    live = service_for(settings.SNAPSHOT_DIR).live
    degraded = [name for name, part in parts.items() if part != "ok"]
    document: dict[str, object] = {
        "status": "not ready" if live is None else "degraded" if degraded else "ready",
        "parts": parts,
    }
    if live is not None:
        document["snapshot_age_seconds"] = round(live.age_seconds(time.time()), 1)
    return JsonResponse(document, status=503 if live is None else 200)


def check_database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def check_broker() -> str:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=BROKER_TIMEOUT_SECONDS,
        socket_timeout=BROKER_TIMEOUT_SECONDS,
    )
    try:
        client.ping()
    except redis.RedisError:
        return "unreachable"
    finally:
        client.close()
    return "ok"


def check_worker() -> str:
    """Whether any worker answers; without a broker nobody can ask."""
    if check_broker() != "ok":
        return "unreachable"
    try:
        found = app.control.ping(timeout=WORKER_TIMEOUT_SECONDS, limit=1)
    except (OperationalError, redis.RedisError):
        return "unreachable"
    return "ok" if found else "none answers"


def check_snapshot() -> str:
    service = service_for(settings.SNAPSHOT_DIR)
    return service.recovery or "ok" if service.live else "none loaded"


CHECKS: dict[str, Callable[[], str]] = {
    "database": check_database,
    "broker": check_broker,
    "worker": check_worker,
    "snapshot": check_snapshot,
}
