"""The OpenAPI document: complete in itself, and true of what the endpoints answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from exchange.api.openapi import OPENAPI_PATH, describe_api
from exchange.market.seed import seeded_catalog
from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder
from exchange.serving.directory import Manifest, SnapshotDirectory
from exchange.serving.downloads import SnapshotDownloads
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from matcher_ext.serving import PREFIX
from tests.serving.asking import Reply
from tests.serving.bid_requests import bid_request
from tests.serving.calling import call, post
from tests.serving.published import HERALD_KEY, SNAPSHOT_KEY, publish, publish_keys, row


def references_in(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from references_in(value)


def test_everyone_may_read_it_and_it_names_every_endpoint(client: Client) -> None:
    document = client.get(OPENAPI_PATH).json()
    assert set(document["paths"]) == {
        "/api/v1/eligibility",
        "/api/v1/eligibility:batch",
        "/api/v1/eligibility:explain",
        "/api/v1/snapshots/live",
        "/api/v1/snapshots/{snapshot_id}/index.atree",
        "/api/v1/snapshots/{snapshot_id}/bookings.jsonl",
        "/api/v1/snapshots/{snapshot_id}/terms.npy",
        "/api/v1/snapshots/{snapshot_id}/catalog.json",
        "/api/v1/snapshots/{snapshot_id}/hashes.json",
        "/api/v1/snapshots/{snapshot_id}/deltas.jsonl",
    }


def test_every_reference_leads_somewhere() -> None:
    shapes = describe_api()["components"]["schemas"]
    names = {reference.rpartition("/")[2] for reference in references_in(describe_api())}
    assert {"EligibilityRequest", "Problem", "Eligible"} <= names <= set(shapes)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Checks as much of JSON schema as the document uses for answers."""
    if "$ref" in schema:
        return fits(value, describe_api()["components"]["schemas"][schema["$ref"].split("/")[-1]])
    if isinstance(schema["type"], list):
        return any(fits(value, {**schema, "type": kind}) for kind in schema["type"])
    if schema["type"] == "array":
        return isinstance(value, list) and all(fits(each, schema["items"]) for each in value)
    if schema["type"] != "object":
        kinds = {"string": str, "integer": int, "number": int | float, "null": type(None)}
        return isinstance(value, kinds[schema["type"]])
    if "properties" not in schema:
        inside = schema.get("additionalProperties")
        return isinstance(value, dict) and (
            inside is None or all(fits(each, inside) for each in value.values())
        )
    return (
        isinstance(value, dict)
        and set(schema.get("required", ())) <= value.keys() <= schema["properties"].keys()
        and all(fits(each, schema["properties"][name]) for name, each in value.items())
    )


@pytest.fixture
def endpoint(tmp_path: Path) -> EligibilityEndpoint:
    directory = SnapshotDirectory(tmp_path)
    publish_keys(directory)
    publish(directory, {1: "true", 2: "geo.country = 'USA'"}, catalog=seeded_catalog())
    return EligibilityEndpoint(EligibilityService(directory.root))


def test_answers_have_the_shapes_that_it_promises(endpoint: EligibilityEndpoint) -> None:
    shapes = describe_api()["components"]["schemas"]
    visit = {"geo": {"country": "USA", "planet": "earth"}, "user.age": "old"}
    answer = post(endpoint, {"visit": visit}).document()
    assert len(answer["warnings"]) == len(answer["eligible"]) == 2
    assert fits(answer, shapes["Answer"])
    assert fits(post(endpoint, {"bid_request": bid_request()}).document(), shapes["Answer"])
    assert fits(post(endpoint, {"visit": {}, "paths": "none"}).document(), shapes["Answer"])
    requests = [{"visit": visit}, {"bid_request": bid_request()}, 7]
    batch = post(endpoint.batch, {"requests": requests}).document()
    assert fits(batch, shapes["BatchAnswer"])
    assert fits(post(endpoint, json.loads("7")).document(), shapes["Problem"])


@pytest.fixture
def downloads(tmp_path: Path) -> SnapshotDownloads:
    """Publishes a snapshot with one change beside it: booking 2 has new terms, 1 is gone."""
    directory = SnapshotDirectory(tmp_path)
    publish_keys(directory)
    snapshot_id = publish(directory, {1: "true", 2: "geo.country = 'USA'"})
    now, log_id = datetime.now(UTC), "a" * 16
    manifest = Manifest(
        snapshot_id=snapshot_id, read_at=now, activated_at=now, delta=40, log_id=log_id
    )
    directory.publish(manifest)
    entries = (DeltaEntry(row(2, net_cpm=20.0), "publisher.id = 'herald'"),)
    delta = Delta(log_id=log_id, number=41, position="", read_at=now, entries=entries, dead=(1, 2))
    DeltaLogFolder(directory, log_id).write(delta)
    return SnapshotDownloads(EligibilityService(directory.root), directory.root)


def get(downloads: SnapshotDownloads, path: str, query: str = "", **options: Any) -> Reply:
    return call(
        downloads, b"", path=path, query=query, **{"method": "GET", "key": SNAPSHOT_KEY} | options
    )


def test_files_are_as_it_says(downloads: SnapshotDownloads) -> None:
    shapes, paths = describe_api()["components"]["schemas"], describe_api()["paths"]
    live = get(downloads, f"{PREFIX}live").document()
    assert fits(live, shapes["LiveSnapshot"])
    for name, path in live["files"].items():
        said = paths[f"{PREFIX}{{snapshot_id}}/{name}"]["get"]["responses"]["200"]["content"]
        reply = get(downloads, path)
        ((kind, content),) = said.items()
        assert (reply.status, reply.headers["content-type"]) == (200, kind)
        if kind == "application/x-ndjson":
            lines = [json.loads(line) for line in reply.body.splitlines()]
            assert lines
            assert all(fits(line, content["schema"]) for line in lines)


def test_refusals_of_changes_are_those_it_names(downloads: SnapshotDownloads) -> None:
    live = get(downloads, f"{PREFIX}live").document()
    path = live["files"]["deltas.jsonl"]
    described = describe_api()["paths"][f"{PREFIX}{{snapshot_id}}/deltas.jsonl"]["get"]
    assert "snapshot:read" in described["description"]
    assert {each["name"] for each in described["parameters"]} == {"snapshot_id", "after", "log"}
    replies = [
        get(downloads, path, "after=x"),
        get(downloads, path, key=None),
        get(downloads, path, key=HERALD_KEY),
        get(downloads, path.replace(live["snapshot_id"], "0" * 32)),
        get(downloads, path, "log=another"),
        get(downloads, path, method="POST"),
    ]
    assert [reply.status for reply in replies] == [400, 401, 403, 404, 404, 405]
    for reply in replies:
        problem = described["responses"][str(reply.status)]["content"]
        assert fits(reply.document(), problem[reply.headers["content-type"]]["schema"])
    assert get(downloads, path, "after=41").body == b""
