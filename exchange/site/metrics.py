"""Answers `/metrics` of the people's process, hidden as that of the ad servers' is."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import Metric
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from exchange.serving.eligibility import service_for
from exchange.serving.metrics import CONTENT_TYPE, collect, may_read
from exchange.site.health import watch

FORWARDED_HEADERS = ("X-Forwarded-For", "Forwarded", "X-Real-Ip")


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    authorization = request.headers.get("Authorization", "")
    if not may_read(own_address(request), authorization, settings.METRICS_TOKEN):
        raise Http404
    text = collect(service_for(settings.SNAPSHOT_DIR), QueueAges(), BuildStates())
    return HttpResponse(text, content_type=CONTENT_TYPE)


def own_address(request: HttpRequest) -> str:
    """Finds where a request comes from; empty if a proxy passed it on: one on this machine would
    make it look local."""
    if any(name in request.headers for name in FORWARDED_HEADERS):
        return ""
    address: str = request.META.get("REMOTE_ADDR", "")
    return address


class QueueAges(Collector):
    """Tells the ages that health.py saw last: asking for metrics asks nobody else. Without a broker
    there are none."""

    def collect(self) -> Iterator[Metric]:
        ages = GaugeMetricFamily(
            "treeline_queue_oldest_seconds",
            "How long the first task of a queue has been waiting.",
            labels=["queue"],
        )
        for queue in watch.queues():
            ages.add_metric([queue.name], queue.waiting_seconds())
        yield ages


class BuildStates(Collector):
    """Tells how builds go, likewise; without a database there are none."""

    def collect(self) -> Iterator[Metric]:
        builds = watch.builds()
        if builds is None:
            return
        yield GaugeMetricFamily(
            "treeline_builds_failed",
            "Builds that failed since the last one that succeeded.",
            value=builds.failed,
        )
        yield GaugeMetricFamily(
            "treeline_changes_waiting_seconds",
            "How long a saved change has been waiting for its delta.",
            value=builds.waiting_seconds,
        )
