"""Lists the language's words by the numbers that compiled code uses (tree.pxd, predicate.pxd,
lexer.pyx)."""

from matcher_ext.language.lexer import KEYWORDS

__all__ = ["KEYWORDS", "KEYWORD_OF", "NODES", "OPERATORS", "TESTS"]

KEYWORD_OF = {number: word for word, number in KEYWORDS.items()}

# Operators of conditions as people write them, by `Operator`.
OPERATORS = (
    "is true", "=", "!=", "<", "<=", ">", ">=", "between", "in", "during", "starts with",
    "ends with", "contains", "like", "under", "one of", "all of", "none of", "only of", "is empty",
    "is present", "is missing", "in network", "within", "inside polygon",
)  # fmt: skip

# Kinds of nodes in the tree, by `NodeKind`.
NODES = ("and", "or", "xor", "xnor", "not", "predicate", "reference", "constant", "constant")

# Tests of canonical predicates, by `Test`.
TESTS = (
    "present", "=", "in", "<", "<=", "between", "during", "starts with", "ends with", "contains",
    "like", "under", "one of", "all of", "only of", "count =", "count <=", "in network", "within",
    "inside polygon",
)  # fmt: skip
