"""Reads bid requests of callers as visits; what cannot be read is the caller's problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from exchange.serving.problems import ProblemError
from targeting import openrtb
from targeting.openrtb import (
    DEPRECATED,
    DERIVED,
    ENUMERATIONS,
    MAX_IMPS,
    BidRequestError,
    Impression,
    Source,
    read_sources,
)

__all__ = [
    "DEPRECATED",
    "DERIVED",
    "ENUMERATIONS",
    "MAX_IMPS",
    "Impression",
    "Source",
    "invalid_bid_request",
    "read_impressions",
    "read_sources",
    "stream_impressions",
]


def read_impressions(request: Mapping[str, Any], sources: tuple[Source, ...]) -> list[Impression]:
    return list(stream_impressions(request, sources))


def stream_impressions(
    request: Mapping[str, Any], sources: tuple[Source, ...]
) -> Iterator[Impression]:
    """Reads as `targeting.openrtb.stream_impressions` does; raises the problem to answer with."""
    try:
        yield from openrtb.stream_impressions(request, sources)
    except BidRequestError as error:
        raise invalid_bid_request(str(error)) from None


def invalid_bid_request(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, "invalid_bid_request", detail)
