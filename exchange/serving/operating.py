"""Answers what operators ask an ad servers' process: `/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

import time
from http import HTTPStatus

import msgspec

from exchange.serving.eligibility import EligibilityService
from exchange.serving.http.messages import Reply, Request
from exchange.serving.metrics import CONTENT_TYPE, collect, may_read
from exchange.serving.problems import not_found

SAFE_METHODS = ("GET", "HEAD")
METRICS_SECONDS = 0.25


class Health:
    """Says that the process lives. Touches nothing, so that an orchestrator restarts us only for
    our own faults."""

    name = "healthz"
    methods: tuple[str, ...] = SAFE_METHODS
    most_bytes = 0

    def admit(self, request: Request) -> None:
        """Lets anybody ask."""

    def answer(self, _request: Request) -> Reply:
        return Reply(b'{"status": "alive"}')


class Readiness:
    """Says whether eligibility is answered. That takes the snapshot alone, so nothing else is asked
    for here."""

    name = "readyz"
    methods: tuple[str, ...] = SAFE_METHODS
    most_bytes = 0

    def __init__(self, service: EligibilityService) -> None:
        self._service = service

    def admit(self, request: Request) -> None:
        """Lets anybody ask."""

    def answer(self, _request: Request) -> Reply:
        live, recovery = self._service.live, self._service.recovery
        document: dict[str, object]
        if live is None:
            document = {"status": "not ready", "parts": {"snapshot": "none loaded"}}
            return Reply(msgspec.json.encode(document), status=HTTPStatus.SERVICE_UNAVAILABLE)
        document = {
            "status": "degraded" if recovery else "ready",
            "parts": {"snapshot": recovery or "ok"},
            "snapshot_age_seconds": round(live.age_seconds(time.time()), 1),
        }
        return Reply(msgspec.json.encode(document))


class Metrics:
    """The numbers, hidden from everyone but the machine itself and the token's holder."""

    name = "metrics"
    methods: tuple[str, ...] = SAFE_METHODS
    most_bytes = 0

    def __init__(self, service: EligibilityService, token: str) -> None:
        self._service = service
        self._token = token
        self._text = b""
        self._made_at = 0.0

    def admit(self, request: Request) -> None:
        address = "" if request.is_forwarded else request.address
        if not may_read(address, request.authorization, self._token):
            raise not_found()

    def answer(self, request: Request) -> Reply:
        """Makes the text anew a few times a second at most: it takes milliseconds."""
        self.admit(request)
        if time.monotonic() > self._made_at + METRICS_SECONDS:
            self._text = collect(self._service)
            self._made_at = time.monotonic()
        return Reply(self._text, CONTENT_TYPE)


class Nowhere:
    """The route of every address that is not known."""

    name = "other"
    methods: tuple[str, ...] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    most_bytes = 64 * 1024

    def admit(self, _request: Request) -> None:
        raise not_found()

    def answer(self, _request: Request) -> Reply:
        raise not_found()
