"""A real cluster: a standalone master and two workers, started as the compose file starts them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyspark
import pytest

from pipelines.session import prepare_java
from targeting.report_tables import read_table
from tests.pipelines.history import NEXT_DAY, History
from tests.pipelines.test_nightly import EDGES, GRAPH, make_entry, make_visit
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.faults]

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
ROOT = Path(__file__).parents[2]
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
TABLES = {
    "eligibility": ("by_publisher", "detail", "daily_visits", "people"),
    "reach": ("reach",),
    "funnel": ("steps", "blockers", "samples", "edges"),
    "overlap": ("partners", "alone"),
    "truth_rates": ("conditions",),
    "data_quality": ("attributes", "top_values", "rows"),
    "schain_audit": ("chains", "edges"),
}


def environment() -> dict[str, str]:
    prepare_java()
    return os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
    }


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def start(log: Path, *command: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [str(SPARK_CLASS), *command],
            env=environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    at = ("--host", "127.0.0.1", "--webui-port", "0")
    processes = [start(folder / "master.log", MASTER, *at, "--port", str(port))]
    try:
        wait_until(lambda: is_listening(port), why=(folder / "master.log").read_text)
        for number in range(2):
            log = folder / f"worker-{number}.log"
            small = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            url = f"spark://127.0.0.1:{port}"
            processes.append(start(log, WORKER, *at, *small, url))
        logs = [folder / f"worker-{number}.log" for number in range(2)]
        wait_until(lambda: all("Successfully registered" in log.read_text() for log in logs))
        yield f"spark://127.0.0.1:{port}"
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def history(tmp_path: Path) -> History:
    history, random = History(tmp_path), Random(11)
    rows = [make_visit(random, f"v-{number}", NEXT_DAY) for number in range(400)]
    for part in range(4):
        history.log(NEXT_DAY, rows[100 * part : 100 * part + 100], part=part)
    return history


def make_snapshot(history: History) -> Path:
    random = Random(12)
    entries = [make_entry(random, number) for number in range(1, 25)]
    snapshot = history.snapshot(entries, definitions=EDGES)
    (snapshot / "graph.json").write_text(json.dumps(GRAPH))
    return snapshot


def begin(history: History, snapshot: Path, master: str, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pipelines", "nightly", "--date", str(NEXT_DAY)]
    command += ["--visits", str(history.root / "visits"), "--snapshot", str(snapshot)]
    command += ["--out", str(out), "--master", master, "--sample-visits", "100"]
    with (history.root / f"{out.name}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment(), cwd=ROOT, stdout=log, stderr=log)


def read_tables(out: Path) -> dict[str, list[str]]:
    return {
        f"{job}.{name}": sorted(map(str, rows_of(out, job, name)))
        for job, names in TABLES.items()
        for name in names
    }


def rows_of(out: Path, job: str, name: str) -> list[dict[str, Any]]:
    table = read_table(str(out), job, name, NEXT_DAY)
    assert table is not None, f"{job} was never committed"
    rows: list[dict[str, Any]] = table.to_pylist()
    # A sketch's bytes depend on the order of its parts; what it says is in `reach`.
    return [{key: row[key] for key in row if (name, key) != ("people", "users")} for row in rows]


def executors_of(master: str) -> list[int]:
    """Finds the executors that this master's workers started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if EXECUTOR.encode() in path.read_bytes() and is_worker(parent_of(path), master):
                found.append(int(path.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def parent_of(path: Path) -> Path:
    status = path.with_name("status").read_text().splitlines()
    parent = next(line.split()[1] for line in status if line.startswith("PPid:"))
    return Path("/proc") / parent / "cmdline"


def is_worker(path: Path, master: str) -> bool:
    return master.encode() in path.read_bytes()


def test_a_cluster_gives_the_tables_of_one_machine(history: History, master: str) -> None:
    """Shows it also when an executor is killed on the way."""
    snapshot = make_snapshot(history)
    outs = {name: history.root / name for name in ("alone", "cluster", "killed")}
    for name, where in (("alone", "local[2]"), ("cluster", master)):
        assert begin(history, snapshot, where, outs[name]).wait(900) == 0, log_of(history, name)
    process = begin(history, snapshot, master, outs["killed"])
    wait_until(
        lambda: bool(executors_of(master)) or process.poll() is not None,
        why=lambda: log_of(history, "killed"),
    )
    (first, *_) = executors_of(master)
    os.kill(first, signal.SIGKILL)
    assert process.wait(900) == 0, log_of(history, "killed")
    expected = read_tables(outs["alone"])
    assert all(expected[name] for name in ("eligibility.by_publisher", "funnel.steps"))
    assert read_tables(outs["cluster"]) == expected
    assert read_tables(outs["killed"]) == expected


def log_of(history: History, name: str) -> str:
    return (history.root / f"{name}.log").read_text()[-3000:]
