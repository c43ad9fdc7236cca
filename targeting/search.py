"""Is there a visit for which these expressions are true, or differ, or are not true?

A search over the classes of values of each attribute (classes.py). Undecided expressions have
several possible truths; a branch ends as soon as no choice of the rest can make a difference.
The budget bounds the work: beyond it the answer is "not decided", never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from targeting.catalog import UTC_OFFSET, AttributeType
from targeting.classes import TooManyClassesError, ValueClass, classes_of
from targeting.evaluator import Context, Truth
from targeting.tree import (
    And,
    Constant,
    Node,
    Not,
    Or,
    Predicate,
    Reference,
    Xor,
    walk,
    without_notes,
)


class Answer(Enum):
    """NO and YES are certain."""

    NO = "no"
    YES = "yes"
    NOT_DECIDED = "not decided"


# The truths that a node can still take, as bits. Plain integers: an IntFlag is ten times slower.
Possible = int
TRUE, FALSE, UNDEFINED = 1, 2, 4
TIMESTAMP_LOCAL = AttributeType.TIMESTAMP_LOCAL
NOT_TRUE = FALSE | UNDEFINED
ANY = TRUE | NOT_TRUE
FLAGS: dict[Truth, Possible] = {True: TRUE, False: FALSE, None: UNDEFINED}
Atom = Predicate | Reference
# From the possible truths of the expressions: can it still be, and is it surely so?
Question = Callable[[Sequence[Possible]], tuple[bool, bool]]


@dataclass(slots=True)
class Budget:
    """How many nodes may still be looked at; shared by all searches of one analysis."""

    nodes: int

    def spend(self, nodes: int = 1) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise OutOfBudgetError


class OutOfBudgetError(Exception):
    """The search was given up."""


@dataclass(frozen=True, slots=True)
class Variable:
    """The conditions of one attribute (or one unresolved definition) and their classes."""

    atoms: tuple[Atom, ...]
    classes: tuple[ValueClass, ...]


def ask(roots: Sequence[Node], question: Question, context: Context, budget: Budget) -> Answer:
    """Whether some visit answers the question. Roots have no notes and no known definitions."""
    try:
        variables = variables_of(roots, context, budget)
        variables = narrow(roots, question, variables, budget)
        return search(roots, question, variables, {}, budget, witnessed=True)
    except (OutOfBudgetError, TooManyClassesError):
        return Answer.NOT_DECIDED


def variables_of(roots: Sequence[Node], context: Context, budget: Budget) -> list[Variable]:
    by_attribute: dict[str, dict[Predicate, None]] = {}
    loose: dict[Atom, None] = {}
    for node in (node for root in roots for node in walk(root)):
        if isinstance(node, Reference) or (
            isinstance(node, Predicate)
            and node.list_name is not None
            and node.list_name not in context.lists
        ):
            loose[node] = None
        elif isinstance(node, Predicate):
            by_attribute.setdefault(node.attribute, {})[node] = None
    anything = tuple(ValueClass((truth,), witnessed=False) for truth in FLAGS)
    variables = [Variable((atom,), anything) for atom in loose]
    for name, predicates in by_attribute.items():
        atoms = tuple(predicates)
        found = classes_of(context.catalog[name], atoms, context)
        budget.spend(4 * len(found) * len(atoms))
        if UTC_OFFSET in by_attribute and context.catalog[name].type is TIMESTAMP_LOCAL:
            # Its witnesses carry an offset of their own: together they prove nothing.
            found = [ValueClass(choice.truths, witnessed=False) for choice in found]
        variables.append(Variable(atoms, tuple(found)))
    return sorted(variables, key=lambda variable: len(variable.classes))


def narrow(
    roots: Sequence[Node], question: Question, variables: list[Variable], budget: Budget
) -> list[Variable]:
    """Drops the classes that rule the question out whatever the other attributes are."""
    narrowed = []
    for variable in variables:
        kept = tuple(
            choice
            for choice in variable.classes
            if question(look(roots, assign(variable, choice, {}), budget))[0]
        )
        narrowed.append(Variable(variable.atoms, kept))
    return narrowed


def assign(
    variable: Variable, choice: ValueClass, known: dict[Atom, Possible]
) -> dict[Atom, Possible]:
    flags = (FLAGS[truth] for truth in choice.truths)
    return known | dict(zip(variable.atoms, flags, strict=True))


def search(
    roots: Sequence[Node],
    question: Question,
    variables: Sequence[Variable],
    known: dict[Atom, Possible],
    budget: Budget,
    *,
    witnessed: bool,
) -> Answer:
    possible, certain = question(look(roots, known, budget))
    if not possible:
        return Answer.NO
    if certain and all(variable.classes for variable in variables):
        return Answer.YES if witnessed else Answer.NOT_DECIDED
    if not variables:
        return Answer.NO
    answer = Answer.NO
    for choice in variables[0].classes:
        below = search(
            roots,
            question,
            variables[1:],
            assign(variables[0], choice, known),
            budget,
            witnessed=witnessed and choice.witnessed,
        )
        if below is Answer.YES:
            return below
        if below is Answer.NOT_DECIDED:
            answer = below
    return answer


def look(roots: Sequence[Node], known: dict[Atom, Possible], budget: Budget) -> list[Possible]:
    return [possible_truths(root, known, budget) for root in roots]


def possible_truths(node: Node, known: dict[Atom, Possible], budget: Budget) -> Possible:
    budget.spend()
    if isinstance(node, Predicate | Reference):
        return known.get(node, ANY)
    if isinstance(node, Constant):
        return FLAGS[node.value]
    if isinstance(node, Not):
        return negated(possible_truths(node.child, known, budget))
    children = [possible_truths(child, known, budget) for child in node.children]
    if isinstance(node, And):
        return conjoined(children)
    if isinstance(node, Or):
        return negated(conjoined([negated(child) for child in children]))
    odd = parity(children)
    return odd if isinstance(node, Xor) or len(children) % 2 == 1 else negated(odd)


def negated(possible: Possible) -> Possible:
    turned = possible & UNDEFINED
    if possible & TRUE:
        turned |= FALSE
    if possible & FALSE:
        turned |= TRUE
    return turned


def conjoined(children: Sequence[Possible]) -> Possible:
    result = 0
    if all(child & TRUE for child in children):
        result |= TRUE
    if any(child & FALSE for child in children):
        result |= FALSE
    if any(child & UNDEFINED for child in children) and all(
        child & (TRUE | UNDEFINED) for child in children
    ):
        result |= UNDEFINED
    return result


def parity(children: Sequence[Possible]) -> Possible:
    result = FALSE
    for child in children:
        known = 0
        for left in (TRUE, FALSE):
            for right in (TRUE, FALSE):
                if result & left and child & right:
                    known |= FALSE if left == right else TRUE
        if (result | child) & UNDEFINED:
            known |= UNDEFINED
        result = known
    return result


def is_true(possible: Sequence[Possible]) -> tuple[bool, bool]:
    """Some visit makes the first expression true."""
    return bool(possible[0] & TRUE), possible[0] == TRUE


def is_not_true(possible: Sequence[Possible]) -> tuple[bool, bool]:
    return bool(possible[0] & NOT_TRUE), not possible[0] & TRUE


def first_without_second(possible: Sequence[Possible]) -> tuple[bool, bool]:
    """Some visit makes the first true and the second not."""
    first, second = is_true(possible[:1]), is_not_true(possible[1:])
    return first[0] and second[0], first[1] and second[1]


def differ(possible: Sequence[Possible]) -> tuple[bool, bool]:
    """Some visit gives the two expressions different truths."""
    first, second = possible
    is_same_single = first == second and first in (*FLAGS.values(),)
    return not is_same_single, not first & second


def resolve(node: Node, context: Context, budget: Budget) -> Node:
    """The tree with its known definitions in place of their names, and without notes."""
    budget.spend()
    if isinstance(node, Reference):
        if node.name not in context.trees:
            return Reference(node.name)
        return resolve(context.trees[node.name], context, budget)
    if isinstance(node, Not):
        return Not(resolve(node.child, context, budget))
    if isinstance(node, Predicate | Constant):
        return without_notes(node)
    return type(node)(tuple(resolve(child, context, budget) for child in node.children))
