"""Finds named definitions, and refuses names that are unknown or lead in a circle.

Works on any mapping of names to expressions; it loads only what is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from matcher_ext.language import ExpressionError, ExpressionProblem, did_you_mean, find_references
from targeting.evaluator import UnresolvedNameError
from targeting.tree import Node

if TYPE_CHECKING:
    from targeting.expression import Expression


def trees_of(names: Iterable[str], definitions: Mapping[str, Expression]) -> dict[str, Node]:
    """Collects the trees of these definitions and of all that they refer to, each after what it
    refers to; leaves unknown names out. Raises UnresolvedNameError where they lead in a circle."""
    trees: dict[str, Node] = {}
    opened: dict[str, Expression] = {}
    waiting = sorted(names, reverse=True)
    while waiting:
        name = waiting.pop()
        if name in trees or name not in definitions:
            continue
        if name in opened:  # seen a second time: all below it is done
            trees[name] = opened.pop(name).root
            continue
        opened[name] = definitions[name]
        below = [n for n in sorted(opened[name].references) if n not in trees]
        circular = next((n for n in below if n in opened), None)
        if circular is not None:
            raise UnresolvedNameError(f"definition @{circular} leads back to itself")
        waiting += [name, *below]
    return trees


def check_definitions(text: str, expression: Expression, name: str | None) -> None:
    """Raises ExpressionError for each `@name` that is unknown or leads to a cycle."""
    problems = []
    for reference, start, length in find_references(expression.catalog.compiled, text):
        words = wording(reference, expression.definitions, name)
        if words is not None:
            line = text.count("\n", 0, start) + 1
            column = start - (text.rfind("\n", 0, start) + 1) + 1
            problems.append(ExpressionProblem(words[0], line, column, length, *words[1:]))
    if problems:
        raise ExpressionError(text, problems)


def wording(
    reference: str, definitions: Mapping[str, Expression], name: str | None
) -> tuple[str, str, str | None] | None:
    """Words what is wrong with a reference: code, message and suggestion; None if nothing is."""
    if reference not in definitions and reference != name:
        suggestion = did_you_mean(reference, definitions, "@")
        return "unknown_definition", f"unknown name `@{reference}`", suggestion
    cycle = find_cycle(reference, definitions, [] if name is None else [name])
    if cycle is None:
        return None
    path = " -> ".join(f"@{step}" for step in cycle)
    return "definition_cycle", f"this definition leads back to itself: {path}", None


def find_cycle(
    start: str, definitions: Mapping[str, Expression], before: list[str]
) -> list[str] | None:
    """Finds the first cycle on a way from `start`, as the names along it. Goes depth first without
    recursion, so that no chain of definitions is too long for the stack."""
    path = list(before)
    done: set[str] = set()
    waiting: list[tuple[str, int]] = [(start, len(path))]
    while waiting:
        name, depth = waiting.pop()
        done.update(path[depth:])
        del path[depth:]
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in definitions:
            continue
        path.append(name)
        waiting.extend((below, len(path)) for below in sorted(definitions[name].references))
    return None
