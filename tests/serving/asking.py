"""A plain HTTP client for the tests of the eligibility endpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from exchange.serving.endpoint import PATH
from tests.serving.published import HERALD_KEY
from tests.waiting import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def document(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    def booking_ids(self) -> list[int]:
        return [item["booking_id"] for item in self.document()["eligible"]]


class Client:
    """One connection that is kept open, as an ad server would."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def send(
        self,
        body: bytes | None,
        *,
        method: str = "POST",
        path: str = PATH,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        self._connection.request(method, path, body, headers or {})
        response = self._connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, names, response.read())

    def ask(self, visit: object, *, key: str | None = HERALD_KEY, **fields: object) -> Reply:
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Api-Key {key}"
        return self.send(json.dumps({"visit": visit, **fields}).encode(), headers=headers)

    def close(self) -> None:
        self._connection.close()
