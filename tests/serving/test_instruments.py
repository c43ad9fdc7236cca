"""What requests count reaches Prometheus as if each had been counted there at once."""

from __future__ import annotations

import threading

from prometheus_client import REGISTRY, CollectorRegistry, Histogram

from exchange.serving.answers import Part
from exchange.serving.instruments import (
    NOT_IN_CATALOGUE,
    SECONDS,
    Tally,
    flush_times,
)
from matcher_ext.serving import Times


def part(count: int, malformed: tuple[str, ...] = (), *, has_unknown: bool = False) -> Part:
    return Part(count, 0.0002, malformed, has_unknown)


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_histogram_is_as_if_each_amount_had_been_observed() -> None:
    amounts = [0.0, 0.00005, 0.00006, 0.001, 0.3, 2.5, 99.0]
    found = []
    for is_bulk in (True, False):
        registry = CollectorRegistry()
        histogram = Histogram("test_seconds", "Of a test.", buckets=SECONDS, registry=registry)
        if is_bulk:
            times = Times(SECONDS)
            for amount in amounts:
                times.add(amount)
            flush_times(times.take(), histogram)
        else:
            for amount in amounts:
                histogram.observe(amount)
        samples = [each for metric in registry.collect() for each in metric.samples]
        found.append([(s.name, s.labels, s.value) for s in samples if "created" not in s.name])
    assert found[0] == found[1]
    assert len(found[0]) > len(SECONDS)


def test_flush_counts_requests_matches_and_bad_attributes() -> None:
    requests = {"endpoint": "batch", "code": "200"}
    before = value("treeline_eligibility_requests_total", **requests)
    matches = value("treeline_matches_total")
    bad = value("treeline_bad_attributes_total", attribute="user.age")
    unknown = value("treeline_bad_attributes_total", attribute=NOT_IN_CATALOGUE)
    tally = Tally()
    tally.add("batch", 0.01, (part(3, ("user.age",)), part(4, ("user.age", "geo.city"))))
    tally.add("batch", 0.02, (part(5, has_unknown=True),))
    tally.flush()
    tally.flush()
    assert value("treeline_eligibility_requests_total", **requests) == before + 2
    assert value("treeline_matches_total") == matches + 12
    assert value("treeline_bad_attributes_total", attribute="user.age") == bad + 2
    assert value("treeline_bad_attributes_total", attribute=NOT_IN_CATALOGUE) == unknown + 1


def test_nothing_is_lost_between_threads_and_flushes() -> None:
    tally = Tally()
    before = value("treeline_matches_total")

    def count() -> None:
        for _ in range(2_000):
            tally.add("eligibility", 0.01, (part(1),))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        tally.flush()
    tally.flush()
    assert value("treeline_matches_total") == before + 8_000
