"""Owns the compiled engine: the language's parser and normal form, the index over expressions.

It imports nothing of the packages above it; catalogues come in as plain rows.
"""

from matcher_ext.index import ATree, LiveIndex, Snapshot
from matcher_ext.language import ExpressionError, ExpressionProblem
from matcher_ext.tables import VisitTable
from matcher_ext.values import (
    CompiledCatalog,
    DefinitionCycleError,
    DuplicateIdError,
    RefusedExpressionsError,
    SnapshotError,
    UnknownDefinitionError,
    UnknownIdError,
)

__all__ = [
    "ATree",
    "CompiledCatalog",
    "DefinitionCycleError",
    "DuplicateIdError",
    "ExpressionError",
    "ExpressionProblem",
    "LiveIndex",
    "RefusedExpressionsError",
    "Snapshot",
    "SnapshotError",
    "UnknownDefinitionError",
    "UnknownIdError",
    "VisitTable",
]
