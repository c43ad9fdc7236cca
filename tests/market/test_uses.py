"""Scanning finds what parsing finds: every attribute, and every value at least."""

from __future__ import annotations

from hypothesis import given

from exchange.market.uses import Scanner, read_literal, read_uses
from targeting import parse
from tests.targeting.strategies import CATALOG, texts

ATTRIBUTES = {attribute.name: f"attribute:{attribute.name}" for attribute in CATALOG}


@given(texts(with_notes=True))
def test_a_scan_finds_the_same_attributes_and_no_value_less(text: str) -> None:
    parsed = read_uses(parse(text, CATALOG))
    scanned = Scanner(ATTRIBUTES).scan(text)
    assert scanned.words == parsed.words
    assert parsed.values <= scanned.values


def test_names_are_found_outside_of_texts_and_comments() -> None:
    text = "@adults and not @x.y or s = '@fans' # @none\n#- @off and a = 1\nor s in $cities-2"
    names = ("adults", "x.y", "fans", "none", "off")
    words = {f"@{name}": f"audience:{number}" for number, name in enumerate(names, 1)}
    words |= {"$cities-2": "list:9", "s": "attribute:s", "a": "attribute:a"}
    found = Scanner(words).scan(text)
    assert found.words == {"audience:1", "audience:2", "attribute:s", "list:9"}
    assert found.values == {("s", "@fans")}


def test_literals_are_read_as_the_language_writes_them() -> None:
    assert read_literal("'it\\'s'") == "it's"
    assert read_literal('"say \\"hi\\""') == 'say "hi"'
    assert read_literal("'a\\u00e9\\n\"b\"'") == 'aé\n"b"'


def test_a_text_is_not_cut_within_a_value_a_comment_or_a_list() -> None:
    scanner = Scanner({name: f"attribute:{name}" for name in "abs"})
    for text, values in {
        "a = 1 and s = 'rock and roll' and b = 2": {("s", "rock and roll")},
        "s = 'it\\'s and \\'more' and a = 1": {("s", "it's and 'more")},
        "a = 1 # s = 'x' and b = 'y'\nand s = 'z'": {("s", "z")},
        "s in ('a') and b = 'a'": {("s", "a"), ("b", "a")},
        "s = (# why and\n'a')": {("s", "a")},
    }.items():
        for _ in range(2):  # from memory, too
            assert scanner.scan(text).values == values
