"""Owns the JSON form of a tree, for the builder in the browser and for APIs. It loses nothing.

    {"and": [..]}, {"or": [..]}, {"xor": [..]}, {"xnor": [..]}, {"not": {..}}, {"constant": true},
    {"reference": "edge.17"},
    {"attribute": "age", "operator": ">=", "values": [18]}, optionally with "negated": true, with
    "count": true (the test is of the number of elements), with "list": "name" in place of values.
    Any of them may carry "notes": [{"text": "..", "disabled": true}].

A polygon's values are points `[lat, lon]`, a circle's `[lat, lon, km]`. A whole number that a
browser would round is `{"integer": "9007199254740993"}`. Reading only gives a tree its shape; types
are checked by the one parser, on the printed text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from matcher_ext.language import OPERATORS
from targeting.catalog import NAME
from targeting.printer import LIST_OPERATORS
from targeting.tree import (
    CONNECTIVES,
    And,
    Constant,
    Group,
    Node,
    Not,
    Note,
    Notes,
    Operand,
    Or,
    Predicate,
    Reference,
    Xnor,
    Xor,
)

Document = dict[str, Any]
GROUPS: dict[str, type[Group]] = {"and": And, "or": Or, "xor": Xor, "xnor": Xnor}
MAX_LEVELS = 200
LARGEST_EXACT = 2**53 - 1  # the largest whole number that a float tells from its neighbours
WHOLE = re.compile(r"-?[0-9]{1,20}", re.ASCII)
MARK_NAME = re.compile(r"\w+([.-]\w+)*", re.ASCII)  # the name of a definition or a list


class DocumentError(ValueError):
    """The caller's JSON is not the form of an expression; `path` says where, as `and.0.values`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path or 'expression'}: {message}")
        self.path = path
        self.message = message


def to_document(node: Node) -> Document:
    document = content_of(node)
    if node.notes:
        document["notes"] = [
            {"text": note.text, "disabled": True} if note.disabled else {"text": note.text}
            for note in node.notes
        ]
    return document


def content_of(node: Node) -> Document:
    if isinstance(node, And | Or | Xor | Xnor):
        return {CONNECTIVES[type(node)]: [to_document(child) for child in node.children]}
    if isinstance(node, Not):
        return {"not": to_document(node.child)}
    if isinstance(node, Constant):
        return {"constant": node.value}
    if isinstance(node, Reference):
        return {"reference": node.name}
    return predicate_document(node)


def predicate_document(node: Predicate) -> Document:
    document: Document = {"attribute": node.attribute, "operator": node.operator}
    if node.negated:
        document["negated"] = True
    if node.counted:
        document["count"] = True
    if node.list_name is not None:
        document["list"] = node.list_name
    elif node.operator == "inside polygon":
        pairs = zip(node.operands[::2], node.operands[1::2], strict=True)
        document["values"] = [list(pair) for pair in pairs]
    elif node.operands:
        document["values"] = [write_value(value) for value in node.operands]
    return document


def write_value(value: Operand) -> Operand | Document:
    is_exact = not isinstance(value, int) or abs(value) <= LARGEST_EXACT
    return value if is_exact else {"integer": str(value)}


def from_document(document: Any, path: str = "", level: int = 0) -> Node:
    """Makes the tree of a document; checks its shape, not its operands."""
    if not isinstance(document, Mapping):
        refuse(path, "an object is expected")
    if level > MAX_LEVELS:
        refuse(path, "nested too deep")
    notes = read_notes(document.get("notes", ()), path)
    if "attribute" in document:
        return read_predicate(document, notes, path)
    kinds = [key for key in document if key != "notes"]
    if len(kinds) != 1:
        refuse(path, "one of and, or, xor, xnor, not, constant, reference, attribute is expected")
    kind, content = kinds[0], document[kinds[0]]
    below = f"{path}.{kind}".lstrip(".")
    if kind in GROUPS:
        return GROUPS[kind](read_children(content, below, level), notes)
    if kind == "not":
        return Not(from_document(content, below, level + 1), notes)
    if kind == "constant" and isinstance(content, bool):
        return Constant(content, notes)
    if kind == "reference" and is_mark_name(content):
        return Reference(content, notes)
    raise DocumentError(below, "not understood")


def refuse(path: str, message: str) -> NoReturn:
    raise DocumentError(path, message)


def read_children(content: Any, path: str, level: int) -> tuple[Node, ...]:
    if not isinstance(content, list | tuple) or not content:
        refuse(path, "a list of at least one condition is expected")
    return tuple(from_document(child, f"{path}.{i}", level + 1) for i, child in enumerate(content))


def read_notes(content: Any, path: str) -> Notes:
    if not isinstance(content, list | tuple):
        refuse(f"{path}.notes".lstrip("."), "a list is expected")
    notes = []
    for note in content:
        if not isinstance(note, Mapping) or not isinstance(note.get("text"), str):
            refuse(f"{path}.notes".lstrip("."), "a note needs a text")
        notes.append(Note(" ".join(note["text"].split()), note.get("disabled") is True))
    return tuple(notes)


def read_predicate(document: Mapping[str, Any], notes: Notes, path: str) -> Predicate:
    attribute, operator = document["attribute"], document.get("operator")
    if not isinstance(attribute, str) or not NAME.fullmatch(attribute):
        refuse(f"{path}.attribute".lstrip("."), "the name of an attribute is expected")
    if operator not in OPERATORS:
        refuse(f"{path}.operator".lstrip("."), "unknown operator")
    list_name = document.get("list")
    if list_name is not None and not is_mark_name(list_name):
        refuse(f"{path}.list".lstrip("."), "the name of a list is expected")
    values = () if list_name is not None else read_values(document.get("values", ()), path)
    if list_name is None and not fits_operator(operator, len(values)):
        refuse(f"{path}.values".lstrip("."), f"wrong number of values for {operator!r}")
    return Predicate(
        attribute,
        operator,
        values,
        document.get("negated") is True,
        document.get("count") is True,
        list_name,
        notes,
    )


def is_mark_name(name: Any) -> bool:
    return isinstance(name, str) and MARK_NAME.fullmatch(name) is not None


def fits_operator(operator: str, count: int) -> bool:
    """Tells whether an operator takes so many values. Lists may be empty here: the parser refuses
    those in better words."""
    if operator in LIST_OPERATORS:
        return True
    if operator == "inside polygon":
        return count % 2 == 0
    return count == {"between": 2, "within": 3}.get(
        operator, 0 if operator.startswith("is ") else 1
    )


def read_values(content: Any, path: str) -> tuple[Operand, ...]:
    """Reads the values, with the points of a polygon laid out one after the other."""
    if not isinstance(content, list | tuple):
        refuse(f"{path}.values".lstrip("."), "a list is expected")
    values: list[Operand] = []
    for value in map(read_value, content):
        flat = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(part, bool | int | float | str) for part in flat):
            refuse(f"{path}.values".lstrip("."), "values are texts, numbers, true or false")
        values.extend(flat)
    return tuple(values)


def read_value(value: Any) -> Any:
    """Reads a large whole number from its text, and leaves everything else as it is."""
    if isinstance(value, Mapping) and set(value) == {"integer"}:
        text = value["integer"]
        if isinstance(text, str) and WHOLE.fullmatch(text):
            return int(text)
    return value
