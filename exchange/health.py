"""Whether this server is alive (`/healthz`) and may get traffic (`/readyz`)."""

from __future__ import annotations

from collections.abc import Callable

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from exchange.serving.eligibility import service_for

BROKER_TIMEOUT_SECONDS = 1.0


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Touches nothing, so that an orchestrator restarts us only for our own faults."""
    return JsonResponse({"status": "alive"})


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """The endpoint keeps answering when only the database or the broker is away; pages do not."""
    parts = {name: check() for name, check in CHECKS.items()}
    ready = all(part == "ok" for part in parts.values())
    document = {"status": "ready" if ready else "not ready", "parts": parts}
    return JsonResponse(document, status=200 if ready else 503)


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


def check_snapshot() -> str:
    return "ok" if service_for(settings.SNAPSHOT_DIR).live else "none loaded"


CHECKS: dict[str, Callable[[], str]] = {
    "database": check_database,
    "broker": check_broker,
    "snapshot": check_snapshot,
}
