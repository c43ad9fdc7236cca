"""Owns what an OpenRTB 2.6 bid request says of a visit, in plain Python."""

from targeting.openrtb.mapping import (
    DEPRECATED,
    DERIVED,
    ENUMERATIONS,
    MAX_IMPS,
    BidRequestError,
    Impression,
    Source,
    read_impressions,
    read_sources,
    stream_impressions,
)

__all__ = [
    "DEPRECATED",
    "DERIVED",
    "ENUMERATIONS",
    "MAX_IMPS",
    "BidRequestError",
    "Impression",
    "Source",
    "read_impressions",
    "read_sources",
    "stream_impressions",
]
