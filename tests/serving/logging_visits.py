"""A real server process that logs visits, asked in every way that it can be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from exchange.market.seed import seeded_catalog
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.endpoint import BATCH_PATH, PATH
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer, running_server
from tests.serving.published import HERALD_KEY, publish, publish_keys

SECRET = "a secret of the visit log alone, for tests"
CATALOG = seeded_catalog()


@contextmanager
def logging_server(root: Path, **settings: str) -> Iterator[EligibilityServer]:
    """Runs a server whose log is `root/visits`; what it kept is written when it ends."""
    directory = SnapshotDirectory(root / "snapshots")
    publish_keys(directory)
    publish(directory, {1: "true"}, catalog=CATALOG)
    environment = {
        "TREELINE_VAR": str(root / "var"),
        "TREELINE_VISIT_LOG_DIR": str(root / "visits"),
        "TREELINE_VISIT_LOG_SALT": SECRET,
        "TREELINE_ANSWER_LOG_DIR": str(root / "answers"),
        **settings,
    }
    with running_server(directory, environment=environment) as server:
        yield server


def ask(server: EligibilityServer, requests: Iterable[Mapping[str, Any]]) -> None:
    """Asks one after another; the first of them takes the general way, the others the compiled
    one."""
    with closing(Client(server.port)) as client:
        for request in requests:
            reply = send(client, request, PATH)
            assert reply == 200


def ask_batch(server: EligibilityServer, requests: Iterable[Mapping[str, Any]]) -> None:
    with closing(Client(server.port)) as client:
        assert send(client, {"requests": list(requests)}, BATCH_PATH) == 200


def send(client: Client, document: object, path: str) -> int:
    headers = {"Authorization": f"Api-Key {HERALD_KEY}", "Content-Type": "application/json"}
    return client.send(json.dumps(document).encode(), path=path, headers=headers).status


def read_log(folder: Path) -> pa.Table:
    """Reads all files under the folder that have their final names."""
    files = sorted(folder.glob("dt=*/[!._]*.parquet"))
    return pa.concat_tables([parquet.ParquetFile(file).read() for file in files])


def by_place(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sorts what was asked by the placements that tell the visits apart."""
    return sorted(map(without_nulls, rows), key=lambda row: str(row["imp.placement_id"]))


def without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
