"""Says what is wrong with an expression, and where.

The parser notes codes and byte positions; here they become lines, columns and (messages.py)
words, only when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matcher_ext.language.messages import Found, say
from matcher_ext.values.catalog import CompiledCatalog
from matcher_ext.values.problems import ProblemCode

NOTHING = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """One mistake. Line and column count from 1, column and length in code points."""

    code: str
    line: int
    column: int
    length: int
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        hint = f" ({self.suggestion})" if self.suggestion else ""
        return f"line {self.line}, column {self.column}: {self.message}{hint}"


class ExpressionError(ValueError):
    """The caller's text is no expression: `errors` holds every problem that was found."""

    def __init__(self, text: str, errors: Sequence[ExpressionProblem]) -> None:
        super().__init__(text, tuple(errors))
        self.text = text
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def describe_problem(
    found: tuple[int, int, int, int, int],
    text: str,
    encoded: bytes | None,
    catalog: CompiledCatalog,
) -> ExpressionProblem:
    """Describes a parser's problem (tree.pxd) for people: code, start, length, attribute, other.

    Start and length count bytes of `encoded`, or code points when there is none.
    """
    code, start, length, attribute, other = found
    if encoded is not None:
        before = encoded[:start].decode()
        word = encoded[start : start + length].decode(errors="replace")
    else:
        before, word = text[:start], text[start : start + length]
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    known = attribute != NOTHING
    message, suggestion = say(
        Found(
            ProblemCode(code),
            word,
            catalog.names[attribute] if known else "",
            catalog.types[attribute] if known else "",
            other,
            catalog,
        )
    )
    name = ProblemCode(code).name.lower()
    return ExpressionProblem(name, line, column, len(word), message, suggestion)
