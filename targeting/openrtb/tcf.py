"""Reads consent strings of the transparency framework (TCF, version 2): purposes and vendors.

Only the core segment is read. What is not such a string gives None: unknown, never "no consent".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sized
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

Vendors = TypeVar("Vendors", bound=Sized)

VERSION = 2
MAX_TEXT_LENGTH = 20_000
MAX_VENDORS = 10_000
PURPOSES_AT, PURPOSE_COUNT = 152, 24
VENDORS_AT = 213
# Store, select personalised ads, make a profile for them: what personalised ads need.
PERSONALISED_ADS = frozenset({1, 3, 4})


@dataclass(frozen=True, slots=True)
class Consent:
    purposes: tuple[int, ...]
    vendors: tuple[int, ...]

    @property
    def allows_personalised_ads(self) -> bool:
        return PERSONALISED_ADS.issubset(self.purposes)


class Bits:
    """Reads unsigned numbers from a string of bits, first bit first."""

    def __init__(self, content: bytes) -> None:
        # Kept as digits: cutting a few bits out of one large number would take time for all of it.
        self._digits = f"{int.from_bytes(content, 'big'):0{8 * len(content)}b}"

    def read(self, at: int, width: int) -> int:
        return int(self.cut(at, width), 2)

    def cut(self, at: int, width: int) -> str:
        if at + width > len(self._digits):
            raise ValueError("the string ends too early")
        return self._digits[at : at + width]


@lru_cache(maxsize=1)
def read_consent(text: str) -> Consent | None:
    """Reads a consent string, or gives None. Keeps the last one, because several attributes of a
    bid request are read from it."""
    core = text.partition(".")[0]
    if not core or len(core) > MAX_TEXT_LENGTH:
        return None
    try:
        bits = Bits(base64.b64decode(core + "=" * (-len(core) % 4), altchars=b"-_", validate=True))
        if bits.read(0, 6) != VERSION:
            return None
        return Consent(read_flags(bits, PURPOSES_AT, PURPOSE_COUNT), read_vendors(bits))
    except (ValueError, binascii.Error):
        return None


def read_flags(bits: Bits, at: int, count: int) -> tuple[int, ...]:
    digits = bits.cut(at, count)
    return tuple(number for number, digit in enumerate(digits, 1) if digit == "1")


def read_vendors(bits: Bits) -> tuple[int, ...]:
    highest, is_range = bits.read(VENDORS_AT, 16), bits.read(VENDORS_AT + 16, 1)
    at = VENDORS_AT + 17
    vendors: list[int] = []
    if not is_range:
        return bound(read_flags(bits, at, highest))
    count, at = bits.read(at, 12), at + 12
    for _ in range(count):
        has_end = bits.read(at, 1)
        first = bits.read(at + 1, 16)
        last = bits.read(at + 17, 16) if has_end else first
        at += 33 if has_end else 17
        vendors += range(first, last + 1)
        bound(vendors)
    return tuple(vendors)


def bound(vendors: Vendors) -> Vendors:
    if len(vendors) > MAX_VENDORS:
        raise ValueError("more vendors than there are")
    return vendors
