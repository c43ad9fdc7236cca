"""compose.yml describes the whole product and names only what exists."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from exchange.launcher.supervisor import WORKERS
from tests.docker.dockerfile import read_dockerfile
from tests.docker.test_dockerfile import assert_runnable, known_variables

CHECKOUT = Path(__file__).resolve().parents[2]
COMPOSE = CHECKOUT / "docker" / "compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]


def test_has_every_part_of_the_product() -> None:
    parts = {
        "web",
        "worker",
        "changes",
        "checks",
        "beat",
        "postgres",
        "redis",
        "spark-master",
        "spark-worker",
    }
    assert parts <= set(SERVICES)


@pytest.mark.parametrize("name", OURS)
def test_builds_a_stage_of_our_dockerfile(name: str) -> None:
    build = SERVICES[name]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert context == CHECKOUT
    stages = {each.stage for each in read_dockerfile(context / build["dockerfile"])}
    assert build["target"] in stages


@pytest.mark.parametrize("name", [name for name in OURS if "command" in SERVICES[name]])
def test_commands_exist(name: str) -> None:
    assert_runnable(SERVICES[name]["command"])


@pytest.mark.parametrize("name", OURS)
def test_environment_variables_are_read_by_the_product(name: str) -> None:
    ours = {key for key in SERVICES[name]["environment"] if not key.startswith("SPARK_")}
    assert ours <= known_variables()


@pytest.mark.parametrize("name", ["web", "worker", "changes", "checks", "beat", "migrate"])
def test_runs_in_production_mode_with_secrets_from_outside(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert environment["TREELINE_MODE"] == "production"
    for key in ["TREELINE_SECRET_KEY", "DATABASE_URL", "REDIS_URL"]:
        assert re.search(r"\$\{\w+:\?", environment[key]), f"{key} must be refused when unset"


def test_no_secret_is_written_down() -> None:
    for service in SERVICES.values():
        for key, value in service["environment"].items():
            if key.endswith(("PASSWORD", "SECRET_KEY", "AUTH")):
                assert value.startswith("${")


def test_every_dependency_can_become_healthy() -> None:
    for service in SERVICES.values():
        for name, need in service.get("depends_on", {}).items():
            if need["condition"] == "service_healthy":
                assert "test" in SERVICES[name]["healthcheck"]
            else:
                assert SERVICES[name]["restart"] == "no"


def test_every_long_running_service_is_checked() -> None:
    checked_by_dockerfile = {"web"}
    for name in set(SERVICES) - checked_by_dockerfile - {"migrate", "beat"}:
        assert SERVICES[name]["healthcheck"]["test"]


def test_volumes_are_declared() -> None:
    declared = yaml.safe_load(COMPOSE.read_text())["volumes"]
    used = {
        volume.split(":")[0] for each in SERVICES.values() for volume in each.get("volumes", [])
    }
    assert used == set(declared)


def test_only_the_web_server_is_reachable_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]


def test_every_queue_is_taken() -> None:
    """The workers are those of the launcher, each in a container of its own."""
    commands = [" ".join(map(str, SERVICES[each.name]["command"])) for each in WORKERS]
    for worker, command in zip(WORKERS, commands, strict=True):
        assert f"--queues {','.join(worker.queues)} --concurrency {worker.processes}" in command
