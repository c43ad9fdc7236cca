"""The alert rules speak of metrics that exist, with labels that they have. `promtool check rules`
would read the expressions themselves; it comes as no wheel, so they are read by eye."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.test import Client

from exchange.queues import QUEUES
from exchange.serving.directory import SnapshotDirectory
from exchange.site.health import watch
from tests.serving.asking import Client as AdServer
from tests.serving.conftest import EligibilityServer, running_server
from tests.serving.published import publish, publish_keys

RULES = settings.BASE_DIR / "docker" / "alerts.yml"
METRIC = re.compile(r"\b(treeline_[a-z_]+)(?:\{([^}]*)\})?")
SELECTOR = re.compile(r'(\w+)\s*=~?\s*"([^"]*)"')
# What Prometheus itself adds to what it scrapes.
OWN_LABELS = {"job", "instance"}
JOBS = {"treeline-serving", "treeline-pages"}


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load(RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def ad_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    publish(directory, {1: "true"})
    with running_server(directory) as server:
        yield server


def read_serving(server: EligibilityServer) -> str:
    """Reads the metrics after an answer and a refusal, so that every label has been seen."""
    client = AdServer(server.port)
    client.ask({})
    client.ask({}, key="tl_unknown")
    client.close()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text: str = answer.read().decode()
    return text


def read_pages() -> str:
    client = Client()
    client.get("/login/")
    watch.look()
    return client.get("/metrics").content.decode()


def labels_of(text: str) -> dict[str, set[str]]:
    """Finds the names of samples, each with its labels."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if match := re.match(r"(treeline_\w+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return found


@pytest.mark.django_db
def test_every_metric_of_a_rule_is_told_with_its_labels(ad_servers: EligibilityServer) -> None:
    told = {
        "treeline-serving": labels_of(read_serving(ad_servers)),
        "treeline-pages": labels_of(read_pages()),
    }
    everywhere = told["treeline-pages"] | told["treeline-serving"]
    for rule in rules():
        named = METRIC.findall(rule["expr"])
        assert named or "up{" in rule["expr"], rule["alert"]
        for name, selector in named:
            wanted = dict(SELECTOR.findall(selector))
            exported = told[wanted["job"]] if "job" in wanted else everywhere
            assert name in exported, f"{rule['alert']}: nobody tells {name}"
            unknown = wanted.keys() - exported[name] - OWN_LABELS
            assert not unknown, f"{rule['alert']}: {name} has no {unknown}"


def test_every_rule_is_whole() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) >= 12
    for rule in rules():
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in {"page", "ticket"}
        expression = rule["expr"]
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), rule["alert"]
        assert set(re.findall(r'job="([^"]+)"', expression)) <= JOBS
        assert re.search(r" (>|==|unless) ", expression), f"{rule['alert']} compares nothing"


def test_queues_may_wait_as_long_as_readiness_says() -> None:
    (rule,) = [rule for rule in rules() if rule["alert"] == "TreelineQueueWaits"]
    bounds = re.findall(r'queue="(\w+)"\} > (\d+)', rule["expr"])
    assert {name: int(seconds) for name, seconds in bounds} == {
        queue.name: queue.longest_wait_seconds for queue in QUEUES
    }


def test_the_guide_tells_what_to_do_about_each() -> None:
    guide = (settings.BASE_DIR / "docs" / "alerts.md").read_text()
    missing = [rule["alert"] for rule in rules() if f"`{rule['alert']}`" not in guide]
    assert not missing
