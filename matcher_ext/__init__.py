"""The compiled engine: the language's parser and normal form, the index over expressions.

Imports nothing of the packages above it; catalogues come in as plain rows.
"""

from matcher_ext.atree import ATree
from matcher_ext.catalog import CompiledCatalog
from matcher_ext.errors import ExpressionError, ExpressionProblem
from matcher_ext.live import LiveIndex
from matcher_ext.refusals import (
    DefinitionCycleError,
    DuplicateIdError,
    RefusedExpressionsError,
    SnapshotError,
    UnknownDefinitionError,
    UnknownIdError,
)
from matcher_ext.snapshot import Snapshot

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
]
