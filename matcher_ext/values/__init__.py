"""Owns types, predicates, the catalogue and literals, and what is refused."""

from matcher_ext.values.catalog import CompiledCatalog
from matcher_ext.values.problems import ProblemCode
from matcher_ext.values.refusals import (
    DefinitionCycleError,
    DuplicateIdError,
    RefusedExpressionsError,
    SnapshotError,
    UnknownDefinitionError,
    UnknownIdError,
)

__all__ = [
    "CompiledCatalog",
    "DefinitionCycleError",
    "DuplicateIdError",
    "ProblemCode",
    "RefusedExpressionsError",
    "SnapshotError",
    "UnknownDefinitionError",
    "UnknownIdError",
]
