"""`/metrics` for Prometheus, hidden from everyone but the machine itself and the token's holder."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Metric,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from exchange.health import watch
from exchange.serving.eligibility import service_for
from exchange.serving.instruments import TALLY

FORWARDED_HEADERS = ("X-Forwarded-For", "Forwarded", "X-Real-Ip")


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not (has_token(request) or is_local(request)):
        raise Http404
    return HttpResponse(collect(), content_type=CONTENT_TYPE_LATEST)


def has_token(request: HttpRequest) -> bool:
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    given = request.headers.get("Authorization", "").encode()
    return bool(settings.METRICS_TOKEN) and secrets.compare_digest(given, expected)


def is_local(request: HttpRequest) -> bool:
    """A request that a proxy on this machine passes on comes from loopback, but is not local."""
    if any(name in request.headers for name in FORWARDED_HEADERS):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def collect() -> bytes:
    """All worker processes together where they share a folder, this process alone otherwise."""
    TALLY.flush()
    registry = CollectorRegistry()
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    registry.register(SnapshotAge())
    registry.register(QueueAges())
    return generate_latest(registry)


class SnapshotAge(Collector):
    """Computed when asked, because an age that is only set grows stale itself."""

    def collect(self) -> Iterator[Metric]:
        live = service_for(settings.SNAPSHOT_DIR).live
        if live is not None:
            yield GaugeMetricFamily(
                "treeline_snapshot_age_seconds",
                "Age of what this process serves.",
                value=live.age_seconds(time.time()),
            )


class QueueAges(Collector):
    """As last looked at (health.py): asking for metrics asks nobody else. Without a broker there
    are none."""

    def collect(self) -> Iterator[Metric]:
        ages = GaugeMetricFamily(
            "treeline_queue_oldest_seconds",
            "How long the first task of a queue has been waiting.",
            labels=["queue"],
        )
        for queue in watch.queues():
            ages.add_metric([queue.name], queue.waiting_seconds())
        yield ages
