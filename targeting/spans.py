"""Finds where the nodes of an expression stand in its text, in code points: for marks and errors.

The parser tells the places of every node of a text that parses. For a text that was printed from a
document and is refused, only those of conditions are known, which are printed in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from matcher_ext.language import ExpressionProblem, find_spans
from targeting.expression import Expression, compile_lists
from targeting.printer import print_leaf
from targeting.tree import Constant, Node, Predicate, Reference, walk_paths

Spans = Mapping[str, tuple[int, int]]
NOTE_LINE = re.compile(r"(?m)^\s*#.*$")
BETWEEN = re.compile(r"(?:\s|[()]|(?:and|or|xor|xnor|not)(?![\w.]))*", re.ASCII)


def spans_of(expression: Expression, text: str) -> Spans:
    """Finds the span of every node, by its path. `text` is what the expression was parsed from."""
    compiled = compile_lists(text, expression.catalog, expression.lists)
    paths = (path for path, _ in walk_paths(expression.root))
    return dict(zip(paths, find_spans(compiled, text), strict=True))


def printed_spans(root: Node, text: str) -> Spans:
    """Finds the span of every condition, by its path. `text` is what `print_tree` makes of the
    tree."""
    code = NOTE_LINE.sub(lambda line: " " * len(line[0]), text)
    spans, place = {}, 0
    for path, node in walk_paths(root):
        if isinstance(node, Constant | Reference | Predicate):
            between = BETWEEN.match(code, place)
            start = between.end() if between else place
            place = start + len(print_leaf(node))
            spans[path] = (start, place)
    return spans


def find_path(problem: ExpressionProblem, text: str, spans: Spans) -> str:
    """Finds the path of the condition that the problem is in; the root's if it is in none."""
    lines = text.split("\n")
    place = sum(len(line) + 1 for line in lines[: problem.line - 1]) + problem.column - 1
    holders = [path for path, (start, end) in spans.items() if start <= place < end]
    return holders[-1] if holders else ""
