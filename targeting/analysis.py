"""Finds what is suspicious about an expression before it is saved, alone or along a path.

Every finding is proven: no visit at all meets a contradiction, not even one that lacks values. What
cannot be decided within the budget is said to be undecided, and never called a finding.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import TypeVar

from targeting.budget import Budget, OutOfBudgetError
from targeting.evaluator import Context
from targeting.expression import Expression
from targeting.printer import print_line
from targeting.search import (
    Answer,
    ask,
    differ,
    first_without_second,
    is_not_true,
    is_true,
    resolve,
)
from targeting.tree import (
    And,
    Constant,
    Node,
    Or,
    Predicate,
    Reference,
    children_of,
    walk,
    walk_paths,
)

DEFAULT_BUDGET = 100_000  # nodes looked at: a fraction of a second
MAX_PAIRS = 400  # of conditions in one group that are compared
MAX_LOOKED_AT = 200_000  # pairs that are gone through to find them
MAX_SHOWN = 200  # characters of a condition in a message

Owner = TypeVar("Owner")


class FindingKind(StrEnum):
    NEVER = "never"  # no visit makes it true
    ALWAYS = "always"  # every visit makes it true
    REPEATED = "repeated"  # the same condition twice
    SUBSUMED = "subsumed"  # another condition already says it
    CONFLICT = "conflict"  # expressions along a path exclude each other
    RETIRED = "retired"  # an attribute that is no longer filled


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that people should know of. `owners` (of a conflict only) names whose each
    condition is: an edge, or None for the campaign. `paths` says where the conditions stand in the
    expression's JSON form; what an audience says stands where the audience is named."""

    kind: FindingKind
    message: str
    conditions: tuple[str, ...]
    owners: tuple[str | None, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """All findings. `is_decided` is False when the budget did not suffice to rule out more."""

    findings: tuple[Finding, ...]
    is_decided: bool


def analyse(expression: Expression, *, budget: int = DEFAULT_BUDGET) -> Analysis:
    """Finds contradictions, tautologies, repeated and subsumed conditions, retired attributes."""
    analyser = Analyser(expression.context({}), Budget(budget))
    findings = list(retired_attributes(expression))
    try:
        root = resolve(expression.root, analyser.context, analyser.budget)
    except OutOfBudgetError:
        return Analysis(tuple(findings), is_decided=False)
    analyser.places = locate(expression.root, root)
    findings += [*analyser.find_constant_parts(root), *analyser.find_redundancy(root)]
    return Analysis(tuple(findings), analyser.is_decided)


def analyse_path(
    campaign: Expression,
    edges: Sequence[tuple[str, Expression]],
    *,
    budget: int = DEFAULT_BUDGET,
) -> Analysis:
    """Tells whether a campaign can ever be eligible through these edges, given with their names.

    A conflict names as few conditions as suffice for it.
    """
    contexts = [campaign.context({}), *(edge.context({}) for _, edge in edges)]
    lists = ChainMap(*(dict(context.lists) for context in contexts))
    analyser = Analyser(replace(contexts[0], lists=lists), Budget(budget))
    sources = [(None, campaign), *((name, edge) for name, edge in edges)]
    parts: list[tuple[str | None, Node]] = []
    for (owner, expression), context in zip(sources, contexts, strict=True):
        try:
            root = resolve(expression.root, context, analyser.budget)
        except OutOfBudgetError:
            return Analysis((), is_decided=False)
        parts += [(owner, part) for part in conjuncts(root)]
    if analyser.ask_true([part for _, part in parts]) is not Answer.NO:
        return Analysis((), analyser.is_decided)
    core = analyser.shrink(parts)
    needs = [f"{name_owner(owner)} needs `{brief(part)}`" for owner, part in core]
    finding = Finding(
        FindingKind.CONFLICT,
        message=f"{', '.join(needs)}: never eligible",
        conditions=tuple(brief(part) for _, part in core),
        owners=tuple(owner for owner, _ in core),
    )
    return Analysis((finding,), analyser.is_decided)


def name_owner(name: str | None) -> str:
    return "the campaign" if name is None else f"edge {name}"


def conjuncts(root: Node) -> tuple[Node, ...]:
    return root.children if isinstance(root, And) else (root,)


def brief(node: Node) -> str:
    """Prints the condition, cut where a long list would drown the message."""
    text = print_line(node, is_root=True)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 2]}.."


def retired_attributes(expression: Expression) -> Iterator[Finding]:
    for name in sorted(expression.attributes):
        if expression.catalog[name].retired:
            message = f"`{name}` is retired: visits no longer carry it"
            paths = tuple(
                path
                for path, node in walk_paths(expression.root)
                if isinstance(node, Predicate) and node.attribute == name
            )
            yield Finding(FindingKind.RETIRED, message, (name,), paths=paths)


Places = Mapping[int, tuple[str, ...]]


def locate(root: Node, resolved: Node) -> Places:
    """Finds where each node of the resolved tree stands in the tree that it was made of. The key is
    the node's identity, because equal conditions may stand at two places."""
    places: dict[int, tuple[str, ...]] = {}

    def visit(path: str, node: Node) -> None:
        known = places.get(id(node), ())
        places[id(node)] = known if path in known else (*known, path)

    def follow(steps: Iterator[tuple[str, Node]], node: Node) -> None:
        path, original = next(steps)
        visit(path, node)
        if isinstance(original, Reference):
            for below in walk(node):
                visit(path, below)
            return
        for child in children_of(node):
            follow(steps, child)

    follow(walk_paths(root), resolved)
    return places


class Analyser:
    """One analysis: what it is about, what it may still spend, and whether all was decided."""

    def __init__(self, context: Context, budget: Budget) -> None:
        self.context = context
        self.budget = budget
        self.is_decided = True
        self.places: Places = {}

    def paths_of(self, *nodes: Node) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(path for node in nodes for path in self.places.get(id(node), ()))
        )

    def note(self, answer: Answer) -> Answer:
        if answer is Answer.NOT_DECIDED:
            self.is_decided = False
        return answer

    def ask_true(self, nodes: Sequence[Node]) -> Answer:
        root = nodes[0] if len(nodes) == 1 else And(tuple(nodes))
        return self.note(ask([root], is_true, self.context, self.budget))

    def shrink(self, parts: list[tuple[Owner, Node]]) -> list[tuple[Owner, Node]]:
        """Leaves out what the conflict does not need, one part after the other."""
        core = list(parts)
        for part in parts:
            rest = [other for other in core if other is not part]
            if rest and self.ask_true([node for _, node in rest]) is Answer.NO:
                core = rest
        return core

    def find_constant_parts(self, node: Node) -> Iterator[Finding]:
        """Finds the largest parts that are never or always true; their own parts are not news."""
        if isinstance(node, Constant):
            return
        if self.ask_true([node]) is Answer.NO:
            core = self.shrink([("", part) for part in children_of(node)] or [("", node)])
            texts = tuple(brief(part) for _, part in core)
            if isinstance(node, And) and len(core) > 1:
                said = " and ".join(f"`{part}`" for part in texts)
                message = f"{said} are never true together"
                paths = self.paths_of(*(part for _, part in core))
                yield Finding(FindingKind.NEVER, message, texts, paths=paths)
            else:
                yield self.find_one(FindingKind.NEVER, node, "is never true")
        elif self.note(ask([node], is_not_true, self.context, self.budget)) is Answer.NO:
            yield self.find_one(FindingKind.ALWAYS, node, "is always true")
        else:
            for child in children_of(node):
                yield from self.find_constant_parts(child)

    def find_one(self, kind: FindingKind, node: Node, said: str) -> Finding:
        text = brief(node)
        return Finding(kind, f"`{text}` {said}", (text,), paths=self.paths_of(node))

    def find_redundancy(self, root: Node) -> Iterator[Finding]:
        """Finds pairs of conditions in one group of which one adds nothing."""
        for group in walk(root):
            if isinstance(group, And | Or):
                yield from self.find_in_group(group, is_top=group is root)

    def find_in_group(self, group: And | Or, *, is_top: bool) -> Iterator[Finding]:
        pairs, are_all = find_pairs(group.children)
        if not are_all:
            self.is_decided = False
        for left, right in pairs:
            if left == right:
                text = brief(left)
                message, paths = f"`{text}` is there twice", self.paths_of(left, right)
                yield Finding(FindingKind.REPEATED, message, (text, text), paths=paths)
            elif self.adds_nothing(group, left, right, is_top=is_top):
                yield self.find_subsumed(right, left)
            elif self.adds_nothing(group, right, left, is_top=is_top):
                yield self.find_subsumed(left, right)

    def adds_nothing(self, group: And | Or, kept: Node, left_out: Node, *, is_top: bool) -> bool:
        """Tells whether `left_out` changes nothing beside `kept`. At the top only matches count;
        further down, perhaps under a negation, every truth value does."""
        if is_top:
            stronger, weaker = (kept, left_out) if isinstance(group, And) else (left_out, kept)
            asked = ask([stronger, weaker], first_without_second, self.context, self.budget)
        else:
            both = type(group)((kept, left_out))
            asked = ask([both, kept], differ, self.context, self.budget)
        return self.note(asked) is Answer.NO

    def find_subsumed(self, left_out: Node, kept: Node) -> Finding:
        texts = brief(left_out), brief(kept)
        message = f"`{texts[0]}` adds nothing to `{texts[1]}`"
        return Finding(FindingKind.SUBSUMED, message, texts, paths=self.paths_of(left_out))


def find_pairs(nodes: Sequence[Node]) -> tuple[list[tuple[Node, Node]], bool]:
    """Finds the pairs that share an attribute or definition, and tells whether these are all: of
    thousands of conditions, only the first pairs are looked at."""
    named = [(node, names_of(walk(node))) for node in nodes]
    found: list[tuple[Node, Node]] = []
    for looked_at, ((left, ours), (right, theirs)) in enumerate(combinations(named, 2)):
        if len(found) > MAX_PAIRS or looked_at >= MAX_LOOKED_AT:
            return found[:MAX_PAIRS], False
        if not ours.isdisjoint(theirs):
            found.append((left, right))
    return found[:MAX_PAIRS], len(found) <= MAX_PAIRS


def names_of(nodes: Iterable[Node]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, Predicate):
            names.add(node.attribute)
        elif isinstance(node, Reference):
            names.add(f"@{node.name}")
    return names
