"""Words every problem for a campaign manager, who can act on it.

Each code has one message, and a suggestion where there is something to suggest. Messages name
what was found and what is expected; they never name the parser's inner workings.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Callable, Iterable
from typing import NamedTuple

from matcher_ext.language.phrases import LITERALS, NOUNS, SCALAR_INSTEAD, SET_INSTEAD
from matcher_ext.language.words import KEYWORD_OF, KEYWORDS, OPERATORS
from matcher_ext.values.catalog import CompiledCatalog
from matcher_ext.values.problems import ProblemCode as Code

COUNT_OPERATOR = 100  # in a problem's `other`, where the index of an operator is expected


class Found(NamedTuple):
    """A problem while it is put into words."""

    code: Code
    word: str  # the text that the problem is about
    attribute: str
    type: str
    other: int
    catalog: CompiledCatalog


Words = tuple[str, str | None]

EMPTY, KM = KEYWORDS["empty"], KEYWORDS["km"]


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Finds the candidate that the writer most likely meant."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower()[:100], by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, candidates: Iterable[str], mark: str = "") -> str | None:
    found = nearest(word, candidates)
    return f"did you mean `{mark}{found}`?" if found else None


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def shown(word: str) -> str:
    """Writes a word as messages show it: printable, never long enough to drown the message."""
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in word[:41])
    return f"`{printable}`" if len(printable) <= 40 else f"`{printable[:37]}...`"


def unknown_attribute(found: Found) -> Words:
    if found.other == 1:
        return "`count(..)` needs the name of a set attribute in its brackets", None
    rows = found.catalog.rows
    live = [row[0] for row in rows if not row[4]]
    suggestion = did_you_mean(found.word, live)
    if suggestion is None:
        suggestion = next(
            (
                f"did you mean `{name}`?"
                for name in live
                if name.rsplit(".", 1)[-1].lower() == found.word.lower()
            ),
            None,
        )
    return f"unknown attribute {shown(found.word)}", suggestion


def wrong_operator(found: Found) -> Words:
    name, noun = found.attribute, NOUNS[found.type]
    if found.other == COUNT_OPERATOR:
        return f"`{name}` is {noun}: `count(..)` counts the elements of a set attribute", None
    operator = OPERATORS[found.other]
    instead = instead_of(operator, found.type)
    if instead and "(attribute)" in instead:
        instead = instead.replace("attribute", name)
    message = f"`{operator}` does not apply to `{name}`, which is {noun}"
    return message, f"use `{instead}`" if instead else None


def instead_of(operator: str, type_name: str) -> str | None:
    if type_name.endswith("set"):
        if operator in ("<", "<=", ">", ">=", "between"):
            return "count(attribute) >= .."
        return SET_INSTEAD.get(operator)
    if type_name == "geo":
        return "within .. km of (latitude, longitude)"
    if type_name == "ip":
        return "in network (..)" if operator in ("in", "one of", "starts with", "like") else None
    if type_name == "boolean":
        return "= true"
    return SCALAR_INSTEAD.get(operator)


def wrong_value(found: Found) -> Words:
    message = f"{shown(found.word)} does not fit `{found.attribute}`, which is {NOUNS[found.type]}"
    if found.type in ("string", "string set", "ip", "timestamp", "timestamp local"):
        if found.type.startswith("string") and found.word[:1] not in "'\"":
            return message, f"write {shown(quoted(found.word))}"
        return message, f"write {LITERALS[found.type]}"
    bare = found.word.strip("'\"")
    if found.type.startswith(("integer", "float")) and bare.lstrip("-").isdecimal():
        return message, f"write `{bare}` without quotes"
    if found.type == "boolean" and bare.lower() in ("true", "false"):
        return message, f"write `{bare.lower()}` without quotes"
    return message, f"write {LITERALS[found.type]}" if found.type in LITERALS else None


def unquoted_text(found: Found) -> Words:
    if found.type in ("boolean", "integer", "float", "integer set"):
        return expected_value(found)
    return f"text values need quotes: {shown(found.word)}", f"write {shown(quoted(found.word))}"


def not_in_domain(found: Found) -> Words:
    domain = found.catalog.rows[found.catalog.numbers[found.attribute]][2] or ()
    bare = found.word.strip("'\"")
    texts = [str(value) for value in domain]
    message = f"`{found.attribute}` is never {shown(found.word)}"
    close = nearest(bare, texts)
    if close is not None:
        literal = quoted(close) if found.type.startswith("string") else close
        return message, f"did you mean `{literal}`?"
    listed = ", ".join(texts[:8]) + (", .." if len(texts) > 8 else "")
    return message, f"it is one of: {listed}"


def expected_word(found: Found) -> Words:
    where = f"before {shown(found.word)}" if found.word else "at the end"
    if found.other == KM:
        return f"distances are in kilometres: `km` is missing {where}", None
    if found.other == EMPTY:
        is_value = found.word[:1] in ("'", '"') or found.word[:1].isdigit()
        suggestion = f"for a value write `= {found.word}`" if is_value else None
        return "after `is` comes `present`, `missing` or `empty`", suggestion
    return f"`{KEYWORD_OF[found.other]}` is missing {where}", None


def expected_value(found: Found) -> Words:
    what = LITERALS.get(found.type, "a value")
    if not found.word:
        return f"the expression ends where {what} is expected", None
    suggestion = None
    if found.word in ("<", ">") and OPERATORS[found.other] == "=":
        suggestion = f"write `{found.word}=`"
    return f"{what} is expected instead of {shown(found.word)}", suggestion


def expected_list(found: Found) -> Words:
    if found.other == 1:
        return "`count` is followed by a set attribute in brackets: `count(segments) > 2`", None
    if found.other == 2:
        return "the closing bracket of `count(..)` is missing", None
    if found.word[:1] in ("'", '"') or found.word[:1].isdigit():
        return "a list is written in brackets", f"write {shown('(' + found.word + ')')}"
    return "a list in brackets, or a managed list such as `$name`, is expected", None


def expected_operator(found: Found) -> Words:
    if found.other == 1:
        return "`count(..)` is compared with a number, for example `count(segments) > 2`", None
    if found.other >= 2:
        operator = OPERATORS[found.other - 2]
        opposite = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
        return f"`not` cannot stand before `{operator}`", f"write `{opposite}`"
    if not found.word:
        return "the expression ends where an operator is expected", None
    message = f"an operator is expected instead of {shown(found.word)}"
    return message, f"for example `{found.attribute} {example_of(found.type)}`"


def example_of(type_name: str) -> str:
    examples = {
        "integer": ">= 18", "float": ">= 0.5", "string": "= 'US'", "string set": "one of ('cars')",
        "integer set": "one of (1, 2)", "ip": "in network ('10.0.0.0/8')",
        "geo": "within 5 km of (48.85, 2.35)", "timestamp": "during 'Mon-Fri 08:00-18:00'",
        "timestamp local": "during 'Mon-Fri 08:00-18:00'", "boolean": "= true",
    }  # fmt: skip
    return examples.get(type_name, "is present")


def bare_attribute(found: Found) -> Words:
    message = f"`{found.attribute}` is {NOUNS[found.type]}: say which value it should have"
    return message, f"for example `{found.attribute} {example_of(found.type)}`"


def unexpected_character(found: Found) -> Words:
    message = f"{shown(found.word)} cannot stand here"
    if found.word[:1] in "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00b4`":
        return message, "use straight quotes: `'`"
    if found.word in "[]{}":
        return message, "use round brackets: `(` and `)`"
    if found.word in "&|":
        return message, "write `and`" if found.word == "&" else "write `or`"
    return message, None


def expected_condition(found: Found) -> Words:
    if not found.word:
        return "the expression ends where a condition is expected", None
    return f"a condition is expected instead of {shown(found.word)}", None


def host_bits(found: Found) -> Words:
    network = ipaddress.ip_network(found.word.strip("'\""), strict=False)
    return f"{shown(found.word)} has bits beyond its prefix", f"write `{quoted(str(network))}`"


def bad_host(found: Found) -> Words:
    bare = found.word.strip("'\"").removeprefix("*.").lstrip(".").split("://")[-1].split("/")[0]
    message = f"{shown(found.word)} is not a host name"
    if bare and bare != found.word.strip("'\""):
        return message, f"write `{quoted(bare)}`: `under` covers the host and all below it"
    return message, None


def bad_timestamp(found: Found) -> Words:
    bare = found.word.strip("'\"")
    message = f"{shown(found.word)} is not a time"
    if len(bare) == 10 and bare[4:5] == "-":
        return message, f"write `{quoted(bare + 'T00:00:00Z')}`"
    return message, "write it like `'2026-11-15T00:00:00Z'`"


def bad_number(found: Found) -> Words:
    digits = found.word.lstrip("+0123456789.-eE")
    plain = found.word.lstrip("+0")
    if plain != found.word and plain.isdecimal():
        return f"{shown(found.word)} is not a number", f"write `{plain}`"
    if digits and found.word[: -len(digits)]:
        return (
            f"{shown(found.word)} is not a number",
            f"write `{found.word[: -len(digits)]} {digits}`" if digits == "km" else None,
        )
    return f"{shown(found.word)} is not a number", None


def bad_point(found: Found) -> Words:
    if found.other == 1:
        return f"{shown(found.word)} is out of range", (
            "latitude runs from -90 to 90, longitude from -180 to 180"
        )
    return "a place is written `(latitude, longitude)`, for example `(48.85, 2.35)`", None


def unknown_list(found: Found) -> Words:
    return (
        f"unknown list {shown(found.word)}",
        did_you_mean(found.word.lstrip("$"), found.catalog.list_names, "$"),
    )


def wrong_list(found: Found) -> Words:
    noun = NOUNS[found.type]
    return (
        f"value {found.other + 1} of the list {shown(found.word)} does not fit "
        f"`{found.attribute}`, which is {noun}",
        None,
    )


def bad_escape(found: Found) -> Words:
    if found.word.startswith("\\u"):
        return f"{shown(found.word)} is not a character", None
    return f"{shown(found.word)} is not an escape", "write `\\\\` for a backslash"


def empty_string(found: Found) -> Words:
    return f"the text after `{OPERATORS[found.other]}` is empty", "name at least one character"


def bad_name(found: Found) -> Words:
    kind = "definition" if found.word == "@" else "list"
    return f"the name of a {kind} is expected right after {shown(found.word)}", None


WORDING: dict[Code, Callable[[Found], Words]] = {
    Code.UNEXPECTED_CHARACTER: unexpected_character,
    Code.BAD_NUMBER: bad_number,
    Code.BAD_NAME: bad_name,
    Code.BAD_ESCAPE: bad_escape,
    Code.EMPTY_STRING: empty_string,
    Code.EXPECTED_CONDITION: expected_condition,
    Code.UNKNOWN_ATTRIBUTE: unknown_attribute,
    Code.BARE_ATTRIBUTE: bare_attribute,
    Code.EXPECTED_OPERATOR: expected_operator,
    Code.EXPECTED_WORD: expected_word,
    Code.WRONG_OPERATOR: wrong_operator,
    Code.EXPECTED_VALUE: expected_value,
    Code.EXPECTED_LIST: expected_list,
    Code.UNQUOTED_TEXT: unquoted_text,
    Code.WRONG_VALUE: wrong_value,
    Code.NOT_IN_DOMAIN: not_in_domain,
    Code.BAD_TIMESTAMP: bad_timestamp,
    Code.HOST_BITS: host_bits,
    Code.BAD_HOST: bad_host,
    Code.BAD_POINT: bad_point,
    Code.UNKNOWN_LIST: unknown_list,
    Code.WRONG_LIST: wrong_list,
}

# Messages that need nothing of what was found, or only the word (`{word}`) or limit (`{other}`).
FIXED: dict[Code, Words] = {
    Code.EMPTY_TEXT: ("there is no condition here", "write `true` to match every visit"),
    Code.NOT_UNICODE: ("this character is not valid Unicode text", None),
    Code.TEXT_TOO_LONG: ("the expression is longer than 64 KiB", None),
    Code.TOO_DEEP: ("conditions are nested more than {other} levels deep", None),
    Code.TOO_MANY_PREDICATES: ("the expression has more than {other} conditions", None),
    Code.TOO_MANY_VALUES: (
        "the lists of the expression hold more than {other} values",
        "keep them in a managed list and use `$name`",
    ),
    Code.LIST_TOO_LONG: ("the list {word} holds more than {other} values", None),
    Code.UNCLOSED_STRING: ("the closing quote of this text is missing", None),
    Code.EXPECTED_CONNECTIVE: (
        "`and` or `or` is missing before {word}",
        None,
    ),
    Code.EMPTY_GROUP: (
        "there is no condition between these brackets",
        "write `true` to match every visit",
    ),
    Code.UNCLOSED_GROUP: ("the closing bracket for this one is missing", None),
    Code.UNEXPECTED_CLOSING: ("this closing bracket has no opening one", None),
    Code.EXPECTED_COMMA: ("a comma is missing before {word}", None),
    Code.EMPTY_LIST: ("this list is empty", "name at least one value"),
    Code.UNCLOSED_LIST: ("the closing bracket of this list is missing", None),
    Code.INTEGER_TOO_LARGE: (
        "{word} is too large",
        "whole numbers run from -9223372036854775808 to 9223372036854775807",
    ),
    Code.FLOAT_NOT_FINITE: ("{word} is too large", None),
    Code.REVERSED_RANGE: ("the range {word} holds nothing", "write the smaller bound first"),
    Code.BAD_SCHEDULE: (
        "{word} is not a weekly schedule",
        "write it like `'Mon-Fri 08:00-18:00, Sat 22:00-02:00'`",
    ),
    Code.BAD_ADDRESS: ("{word} is not an IP address", "write it like `'192.0.2.1'`"),
    Code.BAD_NETWORK: ("{word} is not a network", "write it like `'10.0.0.0/8'`"),
    Code.BAD_DISTANCE: ("a distance is a number of kilometres above 0 and up to 20100", None),
    Code.TOO_FEW_POINTS: ("a polygon needs at least three points", None),
    Code.ANTIMERIDIAN: (
        "this polygon crosses the antimeridian",
        "split it at longitude 180 into two polygons",
    ),
    Code.BAD_COUNT: ("a count is a whole number, 0 or more", None),
    Code.NO_UTC_OFFSET: (
        "`during` in local time needs the attribute `geo.utc_offset` in the catalogue",
        None,
    ),
}


def say(found: Found) -> Words:
    """Says a problem: its message, and a suggestion or None."""
    if found.code in WORDING:
        return WORDING[found.code](found)
    message, suggestion = FIXED[found.code]
    return message.replace("{word}", shown(found.word)).replace(
        "{other}", str(found.other)
    ), suggestion
