"""What an expression means: catalogue, tree, text, JSON form, plain evaluator, explanation.

No Django, no Spark. The compiled parser below it is the only one; the evaluator here is the judge.
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
