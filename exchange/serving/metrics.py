"""Writes the text that Prometheus reads, and decides who may read it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from ipaddress import ip_address

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

from exchange.serving.eligibility import EligibilityService
from exchange.serving.instruments import TALLY

CONTENT_TYPE = CONTENT_TYPE_LATEST


def may_read(address: str, authorization: str, token: str) -> bool:
    """Lets in the token's holder and this machine. A caller whose address a proxy hides has
    none."""
    expected = f"Bearer {token}".encode()
    if token and secrets.compare_digest(authorization.encode(), expected):
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def collect(service: EligibilityService, *more: Collector) -> bytes:
    """Collects the numbers of all processes where they share a folder, else those of this one."""
    TALLY.flush()
    registry = CollectorRegistry()
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    for collector in (SnapshotAge(service), *more):
        registry.register(collector)
    return generate_latest(registry)


class SnapshotAge(Collector):
    """The snapshot's age, computed when asked: an age that is only set grows stale itself."""

    def __init__(self, service: EligibilityService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        live = self._service.live
        if live is not None:
            yield GaugeMetricFamily(
                "treeline_snapshot_age_seconds",
                "Age of what this process serves.",
                value=live.age_seconds(time.time()),
            )
