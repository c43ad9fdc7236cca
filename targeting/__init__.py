"""Says what an expression means: catalogue, tree, text, JSON form, plain evaluator, explanation.

It knows no Django and no Spark. It has no parser but the compiled one; its plain evaluator judges
the compiled matcher.
"""

from matcher_ext.language import ExpressionError, ExpressionProblem
from targeting.catalog import Attribute, AttributeType, Catalog, CatalogError
from targeting.documents import DocumentError
from targeting.evaluator import UnresolvedNameError
from targeting.expression import Expression, parse

__all__ = [
    "Attribute",
    "AttributeType",
    "Catalog",
    "CatalogError",
    "DocumentError",
    "Expression",
    "ExpressionError",
    "ExpressionProblem",
    "UnresolvedNameError",
    "parse",
]
