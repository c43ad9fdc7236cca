"""The compiled engine: the language's parser and normal form, the index over expressions.

Imports nothing of the packages above it; catalogues come in as plain rows.
"""

from matcher_ext.catalog import CompiledCatalog
from matcher_ext.errors import ExpressionError, ExpressionProblem

__all__ = ["CompiledCatalog", "ExpressionError", "ExpressionProblem"]
