from collections.abc import Mapping
from typing import Any

from matcher_ext.requests.bid_sources import BidReader
from matcher_ext.requests.json_visits import Stamps
from matcher_ext.values.catalog import CompiledCatalog

Described = tuple[dict[str, Any], set[str]]

def read_mapping(catalog: CompiledCatalog, mapping: Mapping[str, Any]) -> Described: ...
def read_request(
    reader: BidReader, stamps: Stamps, body: bytes, moment: int, is_described: bool = ...
) -> (
    list[tuple[str | None, dict[str, Any], set[str], set[str], tuple[tuple[str, str], ...]]] | None
): ...
def count_tokens(body: bytes) -> int: ...
