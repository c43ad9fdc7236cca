"""Reads consent strings of the transparency framework (TCF, version 2): purposes and vendors.

Only the core segment is read. What is not such a string gives None: unknown, never "no consent".
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

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
    """Unsigned numbers out of a string of bits, first bit first."""

    def __init__(self, content: bytes) -> None:
        self._number = int.from_bytes(content, "big")
        self.length = 8 * len(content)

    def read(self, at: int, width: int) -> int:
        if at + width > self.length:
            raise ValueError("the string ends too early")
        return (self._number >> (self.length - at - width)) & ((1 << width) - 1)


def read_consent(text: str) -> Consent | None:
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
    flags = bits.read(at, count)
    return tuple(number for number in range(1, count + 1) if flags >> (count - number) & 1)


def read_vendors(bits: Bits) -> tuple[int, ...]:
    highest, is_range = bits.read(VENDORS_AT, 16), bits.read(VENDORS_AT + 16, 1)
    at = VENDORS_AT + 17
    if not is_range:
        return read_flags(bits, at, highest)
    vendors: list[int] = []
    count, at = bits.read(at, 12), at + 12
    for _ in range(count):
        has_end = bits.read(at, 1)
        first = bits.read(at + 1, 16)
        last = bits.read(at + 17, 16) if has_end else first
        at += 33 if has_end else 17
        vendors += range(first, last + 1)
        if len(vendors) > MAX_VENDORS:
            raise ValueError("more vendors than there are")
    return tuple(vendors)
