"""Consent strings, read bit by bit."""

from __future__ import annotations

import base64

import pytest

from targeting.openrtb.tcf import read_consent


def write(*, purposes: set[int], vendors: str, version: int = 2) -> str:
    """Writes a core segment: what lies before the purposes is zero."""
    bits = f"{version:06b}" + "0" * 146
    bits += "".join("1" if number in purposes else "0" for number in range(1, 25))
    bits += "0" * (24 + 1 + 12) + vendors
    bits += "0" * (-len(bits) % 8)
    content = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def test_reads_purposes_and_a_field_of_vendors() -> None:
    text = write(purposes={1, 3, 4}, vendors=f"{5:016b}0" + "10010")
    consent = read_consent(
        text + ".IFoEUQQgAIQwgIwQABAEAAAAOIAACAIAAAAQAIAgEAACEAAAAAgAQBAAAAAAAGBAAgAAAAAAAFAA"
    )
    assert consent is not None
    assert (consent.purposes, consent.vendors) == ((1, 3, 4), (1, 4))
    assert consent.allows_personalised_ads


def test_reads_ranges_of_vendors() -> None:
    ranges = f"{2:012b}" + f"0{52:016b}" + f"1{755:016b}{757:016b}"
    consent = read_consent(write(purposes={1, 3}, vendors=f"{757:016b}1" + ranges))
    assert consent is not None
    assert consent.vendors == (52, 755, 756, 757)
    assert not consent.allows_personalised_ads


def test_reads_as_many_vendors_as_there_may_be() -> None:
    consent = read_consent(
        write(purposes={1}, vendors=f"{65_535:016b}0" + "1" * 10_000 + "0" * 55_535)
    )
    assert consent is not None
    assert consent.vendors == tuple(range(1, 10_001))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "no consent",
        "é",
        "COty",
        write(purposes=set(), vendors="0" * 17, version=1),
        write(purposes=set(), vendors=f"{1:016b}1{3:012b}"),
        write(purposes=set(), vendors=f"{1:016b}1{1:012b}1{1:016b}{65535:016b}"),
        write(purposes=set(), vendors=f"{10_001:016b}0" + "1" * 10_001),
        "C" * 30_000,
    ],
)
def test_what_is_no_such_string_is_unknown(text: str) -> None:
    assert read_consent(text) is None
