"""Decodes and bounds what callers send to the eligibility endpoints."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, TypeVar

import msgspec

from exchange.serving.answers import Options
from exchange.serving.openrtb import MAX_IMPS
from exchange.serving.problems import ProblemError

MAX_BODY_BYTES = 256 * 1024
MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_BATCH = 1_000

Content = TypeVar("Content")


class EligibilityRequest(Options, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A visit in the catalogue's names, or an OpenRTB bid request; exactly one of them."""

    publisher: str | None = None
    visit: dict[str, object] | None = None
    bid_request: dict[str, object] | None = None

    def __post_init__(self) -> None:
        if (self.visit is None) is (self.bid_request is None):
            raise ValueError("Object has either `visit` or `bid_request`")


class BatchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests, each as for one visit and decoded by itself: a bad one does not fail others."""

    requests: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=MAX_BATCH)]


class CountedBidRequest(msgspec.Struct, frozen=True):
    imp: list[msgspec.Raw]


class CountedRequest(msgspec.Struct, frozen=True):
    """Holds as much of a request as says how many visits it asks for; the rest is read over."""

    bid_request: CountedBidRequest | None = None


count_decoder = msgspec.json.Decoder(CountedRequest)
request_decoder = msgspec.json.Decoder(EligibilityRequest)
batch_decoder = msgspec.json.Decoder(BatchRequest)


def decode(decoder: msgspec.json.Decoder[Content], body: bytes | msgspec.Raw) -> Content:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", str(error)) from None
    except RecursionError:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "invalid_request", "The body is nested too deeply."
        ) from None


def count_visits(body: bytes | msgspec.Raw) -> int:
    """Counts one visit for each imp of a bid request, but for those beyond what it may have; what
    cannot be read is one as well. Takes a fraction of what decoding does."""
    try:
        bid_request = decode(count_decoder, body).bid_request
    except ProblemError:
        return 1
    return 1 if bid_request is None else min(max(len(bid_request.imp), 1), MAX_IMPS)
