"""Owns the attribute catalogue: each attribute's name, type, and what else people must know of it.

A catalogue is a value: it is never changed, only replaced. Names and types are checked here, so
that a catalogue that exists is a catalogue that compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from matcher_ext.language import KEYWORDS
from matcher_ext.values import CompiledCatalog

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
UTC_OFFSET = "geo.utc_offset"


class CatalogError(ValueError):
    """The caller's rows are no catalogue."""


class AttributeType(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    TIMESTAMP = "timestamp"
    TIMESTAMP_LOCAL = "timestamp local"
    STRING = "string"
    STRING_SET = "string set"
    INTEGER_SET = "integer set"
    IP = "ip"
    GEO = "geo"


TEXT_TYPES = (AttributeType.STRING, AttributeType.STRING_SET)
WHOLE_TYPES = (AttributeType.INTEGER, AttributeType.INTEGER_SET)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute. `domain` closes the values that an expression may name; a visit that carries
    another value still carries a known one. `required` makes a visit without it ineligible."""

    name: str
    type: AttributeType
    domain: tuple[str | int, ...] | None = None
    required: bool = False
    description: str = ""
    openrtb: str = ""
    personal: bool = False
    retired: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise CatalogError(f"{self.name!r} is not an attribute's name")
        if self.name.lower() in KEYWORDS:
            raise CatalogError(f"{self.name!r} is a word of the language, not a name")
        if self.type not in list(AttributeType):
            raise CatalogError(f"{self.name}: unknown type {self.type!r}")
        object.__setattr__(self, "type", AttributeType(self.type))
        if self.domain is not None:
            object.__setattr__(self, "domain", tuple(self.domain))
            self._check_domain()
        if self.name == UTC_OFFSET and self.type is not AttributeType.INTEGER:
            raise CatalogError(f"{UTC_OFFSET} holds minutes: its type must be integer")

    def _check_domain(self) -> None:
        kind = str if self.type in TEXT_TYPES else int if self.type in WHOLE_TYPES else None
        if kind is None:
            raise CatalogError(f"{self.name}: a {self.type} has no closed domain")
        if not self.domain or not all(type(value) is kind for value in self.domain):
            raise CatalogError(f"{self.name}: the domain must list values of its type")


class Catalog:
    """Immutable; attributes keep their order, which gives them their numbers in compiled code."""

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        self._attributes: dict[str, Attribute] = {}
        for attribute in attributes:
            if attribute.name in self._attributes:
                raise CatalogError(f"{attribute.name} is in the catalogue twice")
            self._attributes[attribute.name] = attribute

    @classmethod
    def of(cls, /, **types: str) -> Self:
        """Makes a catalogue of names and types only: `Catalog.of(**{"geo.country": "string"})`."""
        return cls.from_json({"attributes": [{"name": n, "type": t} for n, t in types.items()]})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Reads `{"attributes": [{"name": .., "type": .., ..}, ..]}`, the form of `to_json`."""
        try:
            return cls(Attribute(**row) for row in document["attributes"])
        except (KeyError, TypeError) as error:
            raise CatalogError(f"not a catalogue: {error}") from error

    def to_json(self) -> dict[str, Any]:
        return {"attributes": [document_of(attribute) for attribute in self]}

    @cached_property
    def compiled(self) -> CompiledCatalog:
        """Makes the form that the parser and the index read."""
        return CompiledCatalog(
            (a.name, a.type.value, a.domain, a.required, a.retired) for a in self
        )

    def __getitem__(self, name: str) -> Attribute:
        return self._attributes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self._attributes.values())

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self._attributes))

    def __repr__(self) -> str:
        return f"Catalog({', '.join(f'{a.name}: {a.type}' for a in self)})"


def document_of(attribute: Attribute) -> dict[str, Any]:
    """Writes the attribute's name, its type, and what differs from the defaults."""
    document = asdict(attribute)
    document["type"] = attribute.type.value
    if attribute.domain is not None:
        document["domain"] = list(attribute.domain)
    return {
        key: value
        for key, value in document.items()
        if key in ("name", "type") or (value is not None and value is not False and value != "")
    }
