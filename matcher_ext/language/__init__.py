"""Owns the way from a text to its normal form, and every problem in words."""

from matcher_ext.language.errors import ExpressionError, ExpressionProblem
from matcher_ext.language.messages import did_you_mean
from matcher_ext.language.reading import (
    Normal,
    check_text,
    find_references,
    find_spans,
    normalise_many,
    read_tree,
    read_warnings,
)
from matcher_ext.language.words import KEYWORDS, OPERATORS

__all__ = [
    "KEYWORDS",
    "OPERATORS",
    "ExpressionError",
    "ExpressionProblem",
    "Normal",
    "check_text",
    "did_you_mean",
    "find_references",
    "find_spans",
    "normalise_many",
    "read_tree",
    "read_warnings",
]
