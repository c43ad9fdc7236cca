"""What callers send to the eligibility endpoints, decoded and bounded."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, TypeVar

import msgspec

from exchange.serving.answers import Options
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
    """Each request is as for one visit, and decoded by itself: a bad one does not fail others."""

    requests: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=MAX_BATCH)]


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
