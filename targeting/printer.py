"""Prints the canonical text of a tree; parsing that text gives the tree back.

It is one line, unless there are notes: then each condition of a noted group has its own line, with
its notes above it. Mixed connectives always stand in brackets.
"""

from __future__ import annotations

import re

from targeting.tree import (
    CONNECTIVES,
    And,
    Constant,
    Group,
    Node,
    Not,
    Operand,
    Or,
    Predicate,
    Reference,
    Xnor,
    Xor,
    walk,
)

ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
LIST_OPERATORS = frozenset({"in", "in network", "under", "one of", "all of", "none of", "only of"})
ESCAPED = re.compile(r"[\\'\x00-\x1f\x7f-\x9f]")
INDENT = "    "


def print_tree(node: Node) -> str:
    if any(below.notes for below in walk(node)):
        return "\n".join(print_lines(node, is_root=True))
    return print_line(node, is_root=True)


def print_line(node: Node, *, is_root: bool = False) -> str:
    """Prints a node on one line, without notes."""
    if isinstance(node, And | Or | Xor | Xnor):
        joined = f" {CONNECTIVES[type(node)]} ".join(print_line(child) for child in node.children)
        return joined if is_root else f"({joined})"
    if isinstance(node, Not):
        return f"not {print_line(node.child)}"
    return print_leaf(node)


def print_lines(node: Node, *, is_root: bool = False) -> list[str]:
    """Prints a node that may have notes, as lines; its own notes come first."""
    notes = [f"#{'-' if note.disabled else ''} {note.text}".rstrip() for note in node.notes]
    if not any(below.notes for child in [node] for below in walk(child) if below is not node):
        keeps_brackets = bool(node.notes) or not is_root
        return [*notes, print_line(node, is_root=not keeps_brackets)]
    if isinstance(node, Not):
        return [*notes, *prefix_code("not ", print_lines(node.child))]
    assert isinstance(node, And | Or | Xor | Xnor)  # noqa: S101  only these have noted children
    lines = join_lines(node)
    if is_root and not notes:
        return lines
    return [*notes, "(", *(INDENT + line for line in lines), ")"]


def join_lines(node: Group) -> list[str]:
    lines = print_lines(node.children[0])
    for child in node.children[1:]:
        lines += prefix_code(f"{CONNECTIVES[type(node)]} ", print_lines(child))
    return lines


def prefix_code(word: str, lines: list[str]) -> list[str]:
    """Puts a word before the first line that is no note."""
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return [*lines[:first], word + lines[first], *lines[first + 1 :]]


def print_leaf(node: Constant | Reference | Predicate) -> str:
    if isinstance(node, Constant):
        return "true" if node.value else "false"
    if isinstance(node, Reference):
        return f"@{node.name}"
    return print_predicate(node)


def print_predicate(node: Predicate) -> str:
    subject = f"count({node.attribute})" if node.counted else node.attribute
    if node.operator == "is true":
        return subject
    operator = node.operator
    if node.negated:
        operator = (
            operator.replace("is ", "is not ")
            if operator.startswith("is ")
            else (f"not {operator}")
        )
    operands = print_operands(node)
    return f"{subject} {operator} {operands}" if operands else f"{subject} {operator}"


def print_operands(node: Predicate) -> str:
    if node.list_name is not None:
        return f"${node.list_name}"
    if node.operator in LIST_OPERATORS:
        return f"({print_list(node.operands)})"
    values = [print_value(value) for value in node.operands]
    if node.operator == "between":
        return f"{values[0]} and {values[1]}"
    if node.operator == "within":
        return f"{values[2]} km of ({values[0]}, {values[1]})"
    if node.operator == "inside polygon":
        points = [f"({lat}, {lon})" for lat, lon in zip(values[::2], values[1::2], strict=True)]
        return f"({', '.join(points)})"
    return " ".join(values)


def print_list(values: tuple[Operand, ...]) -> str:
    """Prints a list; joins the values as they are where none has to be escaped: a million values
    then take a fiftieth of the time."""
    kinds = set(map(type, values))
    if kinds == {str} and not ESCAPED.search("".join(values)):  # type: ignore[arg-type]
        return "'" + "', '".join(values) + "'"  # type: ignore[arg-type]
    if kinds == {int}:
        return ", ".join(map(str, values))
    return ", ".join(map(print_value, values))


def print_value(value: Operand) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value) if isinstance(value, int) else print_text(value)


def print_text(text: str) -> str:
    """Prints a text in single quotes; what would break a line or hide is escaped."""
    if not ESCAPED.search(text):
        return f"'{text}'"
    escaped = "".join(
        ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 else c)
        for c in text
    )
    return f"'{escaped}'"
