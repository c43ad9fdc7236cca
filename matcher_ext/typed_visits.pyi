from collections.abc import Mapping
from typing import Any

from matcher_ext.bid_sources import BidReader
from matcher_ext.catalog import CompiledCatalog
from matcher_ext.json_visits import Stamps

Described = tuple[dict[str, Any], set[str]]

def read_mapping(catalog: CompiledCatalog, mapping: Mapping[str, Any]) -> Described: ...
def read_request(
    reader: BidReader, stamps: Stamps, body: bytes, moment: int, is_described: bool = ...
) -> (
    list[tuple[str | None, dict[str, Any], set[str], set[str], tuple[tuple[str, str], ...]]] | None
): ...
def count_tokens(body: bytes) -> int: ...
