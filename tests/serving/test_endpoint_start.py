"""A server that starts before anything was built."""

from __future__ import annotations

from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer
from tests.serving.published import publish


def test_is_unavailable_until_a_snapshot_is_live(
    eligibility_server: EligibilityServer, client: Client
) -> None:
    reply = client.ask({})
    assert (reply.status, reply.document()["code"]) == (503, "no_snapshot")
    assert int(reply.headers["retry-after"]) > 0
    snapshot_id = publish(eligibility_server.directory, {1: "true"})
    eligibility_server.wait_for(snapshot_id, client)
    assert client.ask({}).booking_ids() == [1]
