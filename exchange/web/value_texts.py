"""Reads and writes values as people paste, upload and download them: one a line, or several with
commas, as CSV writes them.

A value that begins with a quote ends with one, and has two for each inside: nothing is taken off
silently. What is wrong is told with its line.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from django.core.exceptions import ValidationError
from django.db.models import F, Func, TextField, Value

from exchange.market.models import ValueListVersion
from exchange.market.services import BadValueError

BETWEEN_VALUES = re.compile(r"[,;\t]")
IN_QUOTES = re.compile(r'"((?:[^"]|"")*)"\s*(?:[,;\t]|$)')
NEEDS_QUOTES = re.compile(r'^["\s].*|^.*[,;\t].*|^.*[^\S\n]$', re.MULTILINE)
_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class GivenValues:
    """Values in the order of the text, and the line of each."""

    values: list[str] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("L"))

    def place(self, error: BadValueError) -> ValidationError:
        """Says what a service says about one of them, with its line."""
        return ValidationError(f"Line {self.lines[error.position]:,}: {error.messages[0]}")


def read_values(text: str) -> GivenValues:
    given = GivenValues()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        for value in split_line(line.strip(), number):
            given.values.append(value)
            given.lines.append(number)
    return given


def split_line(line: str, number: int) -> Iterator[str]:
    if '"' not in line:
        yield from (part.strip() for part in BETWEEN_VALUES.split(line) if part.strip())
        return
    while line:
        if line.startswith('"'):
            found = IN_QUOTES.match(line)
            if found is None:
                raise ValidationError(
                    f"Line {number:,}: a value begins with a quote that does not end it. "
                    'Put the value in quotes, and write "" for each quote inside.'
                )
            value, line = found[1].replace('""', '"'), line[found.end() :].lstrip()
        else:
            end = BETWEEN_VALUES.search(line)
            value = (line[: end.start()] if end else line).rstrip()
            line = line[end.end() :].lstrip() if end else ""
        if value:
            yield value


def write_value(value: str | int) -> str:
    """Writes a value as `read_values` reads it."""
    return quote_lines(str(value))


def quote_lines(text: str) -> str:
    """Puts lines that would be read as something else than a value in quotes."""
    return NEEDS_QUOTES.sub(lambda found: '"' + found[0].replace('"', '""') + '"', text)


def load_lines(list_id: int, number: int) -> bytes:
    """Writes a version as a file that `read_values` reads; whoever asks at the same time is given
    the same bytes."""
    with _writing:
        return _write_lines(list_id, number)


@lru_cache(maxsize=2)  # a version never changes; at most what may be uploaded, 66 MB, each
def _write_lines(list_id: int, number: int) -> bytes:
    """Has Postgres join the values: a million Python texts take ten times as long, and 80 MB."""
    joined = Func(F("values"), Value("\n"), function="array_to_string", output_field=TextField())
    versions = ValueListVersion.objects.filter(value_list_id=list_id, number=number)
    text: str = versions.values_list(joined, flat=True).get()
    return f"{quote_lines(text)}\n".encode()
