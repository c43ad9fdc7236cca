"""Reads a visit that someone pastes, with the place of every mistake."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

EXAMPLE_VISIT: dict[str, Any] = {
    "geo": {"country": "USA", "region": "CA", "utc_offset": -480},
    "device": {"type": "phone", "os": "ios", "language": "en"},
    "site": {"domain": "news.example", "cat": ["IAB17"]},
    "imp": {"media_types": ["banner"], "sizes": ["300x250"], "floor": 0.5},
    "user": {"segments": ["loom:parents", "pulse:gamer"], "consent": True},
    "regs": {"gdpr": False, "coppa": False},
}
EXAMPLE_BID_REQUEST = """{
  "id": "1",
  "imp": [{"id": "1", "banner": {"w": 300, "h": 250}, "bidfloor": 0.5}],
  "site": {"domain": "news.example", "cat": ["IAB17"]},
  "device": {"devicetype": 4, "os": "iOS", "geo": {"country": "USA", "utcoffset": -480}},
  "user": {"consent": "", "data": []},
  "regs": {"coppa": 0, "gdpr": 0}
}"""
MAX_VISIT_CHARACTERS = 64 * 1024
WORD = re.compile(r"\w+")
# Says what Python's reader says in words for people who do not read Python.
MISTAKES = {
    "Expecting value": "A value is expected here. Texts stand in double quotes.",
    "Expecting property name": "A name in double quotes is expected here.",
    "Expecting ',' delimiter": "A comma or a closing bracket is missing before this.",
    "Expecting ':' delimiter": "A colon is missing between name and value.",
    "Extra data": "The visit has ended before this.",
    "Unterminated string": "The closing quote of this text is missing.",
    "Invalid control character": "A line break or tab inside a text is written \\n or \\t.",
    "Illegal trailing comma": "There is a comma too many.",
}


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Something wrong at a place of a text; lines and columns count from 1."""

    line: int
    column: int
    length: int
    message: str


class VisitProblemError(Exception):
    def __init__(self, problem: TextProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_visit(text: str) -> dict[str, Any]:
    """Reads a JSON object, strictly: what other readers would refuse is refused here too."""
    try:
        visit = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise VisitProblemError(describe_mistake(text, error)) from None
    except RecursionError:
        message = "The visit is nested too deeply to be read."
        raise VisitProblemError(TextProblem(1, 1, 1, message)) from None
    except ValueError as error:
        raise VisitProblemError(TextProblem(1, 1, 1, str(error))) from None
    if not isinstance(visit, dict):
        message = 'A visit is a JSON object, such as {"geo": {"country": "USA"}}.'
        raise VisitProblemError(TextProblem(1, 1, 1, message))
    return unwrap(visit)


def unwrap(document: dict[str, Any]) -> dict[str, Any]:
    """Unwraps what an ad server asks, taken from a log or the documents: a visit or a bid request
    with a publisher beside it."""
    publisher, inner = document.get("publisher"), document.get("bid_request")
    if isinstance(publisher, str) and isinstance(inner, dict):
        return inner
    inner = document.get("visit")
    if isinstance(publisher, str) and isinstance(inner, dict):
        return inner if "publisher" in inner else {"publisher.id": publisher, **inner}
    return document


def describe_mistake(text: str, error: json.JSONDecodeError) -> TextProblem:
    """Describes a mistake by the word around the one character that the reader names."""
    word = WORD.match(text, error.pos)
    length = len(word[0]) if word else 1
    said = next((said for start, said in MISTAKES.items() if error.msg.startswith(start)), "")
    message = said or f"This is not JSON: {error.msg[0].lower()}{error.msg[1:]}."
    return TextProblem(error.lineno, error.colno, length, message)


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value; use null for what is not known.")


def write_example() -> str:
    """Writes one line per object: short enough to see at once, easy enough to change."""
    lines = [f"  {json.dumps(name)}: {json.dumps(part)}" for name, part in EXAMPLE_VISIT.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
