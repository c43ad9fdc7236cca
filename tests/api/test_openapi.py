"""The OpenAPI document: complete in itself, and true of what the endpoints answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from exchange.api.openapi import OPENAPI_PATH, describe_api
from exchange.market.seed import seeded_catalog
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from tests.serving.bid_requests import bid_request
from tests.serving.calling import post
from tests.serving.published import publish, publish_keys


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
    }


def test_every_reference_leads_somewhere() -> None:
    shapes = describe_api()["components"]["schemas"]
    names = {reference.rpartition("/")[2] for reference in references_in(describe_api())}
    assert {"EligibilityRequest", "Problem", "Eligible"} <= names <= set(shapes)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """As much of JSON schema as the document uses for answers."""
    if "$ref" in schema:
        return fits(value, describe_api()["components"]["schemas"][schema["$ref"].split("/")[-1]])
    if schema["type"] == "array":
        return isinstance(value, list) and all(fits(each, schema["items"]) for each in value)
    if schema["type"] != "object":
        kinds = {"string": str, "integer": int, "number": int | float}
        return isinstance(value, kinds[schema["type"]])
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
