"""compose.yml describes the whole product and names only what exists."""

import re

import pytest
import yaml

from exchange.launcher.supervisor import WORKERS
from tests.docker.compose import CHECKOUT, COMPOSE, OURS, SERVICES, fill_in
from tests.docker.dockerfile import read_dockerfile
from tests.docker.test_dockerfile import assert_runnable, known_variables

AD_SERVERS = ["serving-1", "serving-2"]


def test_has_every_part_of_the_product() -> None:
    parts = {
        "nginx",
        "web",
        *AD_SERVERS,
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


@pytest.mark.parametrize("name", AD_SERVERS)
def test_ad_servers_know_no_password(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert not {"DATABASE_URL", "REDIS_URL", "TREELINE_SECRET_KEY"} & set(environment)
    assert environment["TREELINE_MODE"] == "production"


def test_the_ad_servers_are_alike() -> None:
    assert SERVICES[AD_SERVERS[0]] == SERVICES[AD_SERVERS[1]]


def test_only_the_worker_and_spark_use_the_image_with_spark() -> None:
    users = {name for name in OURS if SERVICES[name]["build"]["target"] == "worker"}
    assert users == {"worker", "spark-master", "spark-worker"}


def test_no_secret_is_written_down() -> None:
    for service in SERVICES.values():
        for key, value in service["environment"].items():
            if key.endswith(("PASSWORD", "SECRET_KEY", "AUTH")):
                assert value.startswith("${")


def test_every_dependency_can_become_healthy() -> None:
    for service in SERVICES.values():
        for name, need in service.get("depends_on", {}).items():
            assert name in SERVICES
            if need["condition"] == "service_healthy":
                assert "test" in SERVICES[name]["healthcheck"]
            elif need["condition"] == "service_completed_successfully":
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
    files = {each for each in used if each.startswith(".")}
    assert all((COMPOSE.parent / file).is_file() for file in files)
    assert used - files == set(declared)


def test_only_nginx_is_reachable_from_outside_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"nginx": ["127.0.0.1:8000:8000"]}


def test_nginx_is_given_exactly_what_its_template_asks_for() -> None:
    template = (CHECKOUT / "docker" / "nginx.conf.template").read_text()
    environment = SERVICES["nginx"]["environment"]
    own = re.compile(environment["NGINX_ENVSUBST_FILTER"])
    given = {name for name in environment if own.search(name)}
    assert given == set(re.findall(r"\$\{(\w+)\}", template))


def test_nginx_passes_on_to_where_the_services_listen() -> None:
    environment = SERVICES["nginx"]["environment"]
    places = {
        "TREELINE_NGINX_AD_SERVER_1": ("serving-1", "TREELINE_SERVING_ADDRESS"),
        "TREELINE_NGINX_AD_SERVER_2": ("serving-2", "TREELINE_SERVING_ADDRESS"),
        "TREELINE_NGINX_PAGES": ("web", "TREELINE_PAGES_ADDRESS"),
    }
    for variable, (name, address) in places.items():
        port = SERVICES[name]["environment"][address].rpartition(":")[2]
        assert environment[variable].split()[0] == f"{name}:{port}"
    published = SERVICES["nginx"]["ports"][0].rpartition(":")[2]
    assert environment["TREELINE_NGINX_LISTEN"].endswith(f":{published}")


def test_what_nginx_forwards_is_believed() -> None:
    assert SERVICES["web"]["environment"]["TREELINE_BEHIND_PROXY"] == "yes"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A:?needed}-$$HOME", "1-$HOME"),
        ("${B:-2}${C:-}", "2"),
        ("redis://:${A}@redis:6379/0", "redis://:1@redis:6379/0"),
    ],
)
def test_placeholders_are_read_as_compose_reads_them(text: str, filled: str) -> None:
    assert fill_in(text, {"A": "1"}) == filled


def test_a_missing_secret_is_refused() -> None:
    with pytest.raises(AssertionError, match="A is needed: a password"):
        fill_in("${A:?a password}", {})


def test_every_queue_is_taken() -> None:
    """Shows that the workers are those of the launcher, each in a container of its own."""
    commands = [" ".join(map(str, SERVICES[each.name]["command"])) for each in WORKERS]
    for worker, command in zip(WORKERS, commands, strict=True):
        assert f"--queues {','.join(worker.queues)} --concurrency {worker.processes}" in command
