"""Scanning finds what parsing finds: every attribute, and every value at least."""

from __future__ import annotations

from hypothesis import given

from exchange.market.uses import read_literal, read_uses, scan_uses
from targeting import parse
from tests.targeting.strategies import CATALOG, texts

ATTRIBUTES = {attribute.name: 0 for attribute in CATALOG}


@given(texts(with_notes=True))
def test_a_scan_finds_the_same_attributes_and_no_value_less(text: str) -> None:
    parsed = read_uses(parse(text, CATALOG))
    scanned = scan_uses(text, ATTRIBUTES, {}, {})
    assert scanned.words == parsed.words
    assert parsed.values <= scanned.values


def test_names_are_found_outside_of_texts_and_comments() -> None:
    text = "@adults and not @x.y or s = '@fans' # @none\n#- @off and a = 1\nor s in $cities-2"
    ids = {"adults": 1, "x.y": 2, "fans": 3, "none": 4, "off": 5}
    found = scan_uses(text, {"s": 0, "a": 0}, ids, {"cities-2": 9})
    assert found.words == {"audience:1", "audience:2", "attribute:s", "list:9"}
    assert found.values == {("s", "@fans")}


def test_literals_are_read_as_the_language_writes_them() -> None:
    assert read_literal("'it\\'s'") == "it's"
    assert read_literal('"say \\"hi\\""') == 'say "hi"'
    assert read_literal("'a\\u00e9\\n\"b\"'") == 'aé\n"b"'
