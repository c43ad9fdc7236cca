"""Checks expressions as a build handles them: a million texts, few of which become trees."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from matcher_ext.language import check_text, find_references
from matcher_ext.values import CompiledCatalog
from targeting import Catalog, Expression, ExpressionError, parse

Place = tuple[str, int, int]  # a name in a text, where its `@` is, how long both are


class CheckedText(msgspec.Struct, frozen=True, gc=False):
    """A text that the language accepts, with the names of the index. The index reads it as it is;
    making its tree, and printing that, took most of a build's time."""

    text: str
    catalog: Catalog
    definitions: Mapping[str, Expression] = msgspec.field(default_factory=dict)
    references: frozenset[str] = frozenset()

    def read(self) -> Expression:
        root = parse(self.text, self.catalog).root
        return Expression(root, self.catalog, definitions=self.definitions)


Readable = Expression | CheckedText
Compiled = Readable | ExpressionError


def open_catalog(catalog: Catalog) -> CompiledCatalog:
    """Keeps what an index needs of a catalogue: names, types, and what is required. Which values
    people may name was checked with their texts; one more of them must not need another index."""
    rows = catalog.compiled.rows
    return CompiledCatalog(
        (name, kind, None, required, False) for name, kind, _, required, _ in rows
    )


def read_tree(readable: Readable) -> Expression:
    return readable.read() if isinstance(readable, CheckedText) else readable


def find_names(text: str, catalog: Catalog) -> list[Place]:
    """Finds where a text names audiences. Raises ExpressionError for one that is wrong."""
    if "@" in text:
        return find_references(catalog.compiled, text)
    check_text(catalog.compiled, text)
    return []


def rename_in(text: str, places: list[Place], names: Mapping[str, str]) -> str:
    parts, end = [], 0
    for name, start, length in sorted(places, key=lambda place: place[1]):
        parts += [text[end:start], "@", names[name]]
        end = start + length
    return "".join([*parts, text[end:]])
