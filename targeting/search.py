"""Searches for a visit for which expressions are true, are not true, or differ.

It goes over the classes of values of each attribute (classes.py). An expression that is not yet
decided has several possible truths; a branch ends as soon as the rest can make no difference.
The budget bounds the work: beyond it the answer is "not decided", never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from targeting.budget import Budget, OutOfBudgetError
from targeting.catalog import UTC_OFFSET, AttributeType
from targeting.classes import ValueClass, classes_of
from targeting.conditions import TooManyClassesError
from targeting.evaluator import Context, Truth
from targeting.tree import (
    And,
    Constant,
    Group,
    Node,
    Not,
    Or,
    Predicate,
    Reference,
    Xor,
    children_of,
    without_notes,
)


class Answer(Enum):
    """What a search found; NO and YES are certain."""

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
# A tree with numbers in place of atoms.
Numbered = int | Constant | tuple[type[Group | Not], tuple["Numbered", ...]]
# Tells from the expressions' possible truths whether it can still be so, and whether it surely is.
Question = Callable[[Sequence[Possible]], tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class Variable:
    """The conditions of one attribute, or one definition or list that is not known: their numbers,
    and the truths that they can have together."""

    atoms: tuple[int, ...]
    classes: tuple[ValueClass, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The roots with numbers for atoms, because hashing an atom takes as long as its list is."""

    roots: tuple[Numbered, ...]
    atoms: Mapping[Atom, int]


def ask(roots: Sequence[Node], question: Question, context: Context, budget: Budget) -> Answer:
    """Tells whether the question is true of some visit. Roots must be resolved (`resolve`)."""
    try:
        asked = number_atoms(roots)
        variables = variables_of(asked, context, budget)
        known = [ANY] * len(asked.atoms)
        variables = narrow(asked, question, variables, known, budget)
        return search(asked, question, variables, known, budget, witnessed=True)
    except (OutOfBudgetError, TooManyClassesError):
        return Answer.NOT_DECIDED


def number_atoms(roots: Sequence[Node]) -> Asked:
    atoms: dict[Atom, int] = {}

    def number(node: Node) -> Numbered:
        if isinstance(node, Predicate | Reference):
            return atoms.setdefault(node, len(atoms))
        if isinstance(node, Constant):
            return node
        return type(node), tuple(number(child) for child in children_of(node))

    return Asked(tuple(number(root) for root in roots), atoms)


def variables_of(asked: Asked, context: Context, budget: Budget) -> list[Variable]:
    by_attribute: dict[str, list[Predicate]] = {}
    anything = tuple(ValueClass((truth,), witnessed=False) for truth in FLAGS)
    variables = []
    for atom, number in asked.atoms.items():
        if isinstance(atom, Reference) or is_unknown(atom.list_name, context):
            variables.append(Variable((number,), anything))
        else:
            by_attribute.setdefault(atom.attribute, []).append(atom)
    for name, predicates in by_attribute.items():
        found = classes_of(context.catalog[name], predicates, context, budget)
        if UTC_OFFSET in by_attribute and context.catalog[name].type is TIMESTAMP_LOCAL:
            # Its witnesses assume some offset, which conditions on the offset may rule out.
            found = [ValueClass(choice.truths, witnessed=False) for choice in found]
        numbers = tuple(asked.atoms[predicate] for predicate in predicates)
        variables.append(Variable(numbers, tuple(found)))
    return sorted(variables, key=lambda variable: len(variable.classes))


def is_unknown(list_name: str | None, context: Context) -> bool:
    return list_name is not None and list_name not in context.lists


def narrow(
    asked: Asked,
    question: Question,
    variables: list[Variable],
    known: list[Possible],
    budget: Budget,
) -> list[Variable]:
    """Drops the classes that rule the question out whatever the other attributes are."""
    narrowed = []
    for variable in variables:
        kept = []
        for choice in variable.classes:
            assign(variable, choice, known)
            if question(look(asked, known, budget))[0]:
                kept.append(choice)
        forget(variable, known)
        narrowed.append(Variable(variable.atoms, tuple(kept)))
    return narrowed


def assign(variable: Variable, choice: ValueClass, known: list[Possible]) -> None:
    for atom, truth in zip(variable.atoms, choice.truths, strict=True):
        known[atom] = FLAGS[truth]


def forget(variable: Variable, known: list[Possible]) -> None:
    for atom in variable.atoms:
        known[atom] = ANY


def search(
    asked: Asked,
    question: Question,
    variables: Sequence[Variable],
    known: list[Possible],
    budget: Budget,
    *,
    witnessed: bool,
) -> Answer:
    possible, certain = question(look(asked, known, budget))
    if not possible:
        return Answer.NO
    if certain and all(variable.classes for variable in variables):
        return Answer.YES if witnessed else Answer.NOT_DECIDED
    if not variables:
        return Answer.NO
    answer = Answer.NO
    for choice in variables[0].classes:
        assign(variables[0], choice, known)
        below = search(
            asked,
            question,
            variables[1:],
            known,
            budget,
            witnessed=witnessed and choice.witnessed,
        )
        if below is Answer.YES:
            return below
        if below is Answer.NOT_DECIDED:
            answer = below
    forget(variables[0], known)
    return answer


def look(asked: Asked, known: Sequence[Possible], budget: Budget) -> list[Possible]:
    return [possible_truths(root, known, budget) for root in asked.roots]


def possible_truths(node: Numbered, known: Sequence[Possible], budget: Budget) -> Possible:
    budget.spend()
    if isinstance(node, int):
        return known[node]
    if isinstance(node, Constant):
        return FLAGS[node.value]
    kind, below = node
    children = [possible_truths(child, known, budget) for child in below]
    if kind is Not:
        return negated(children[0])
    if kind is And:
        return conjoined(children)
    if kind is Or:
        return negated(conjoined([negated(child) for child in children]))
    odd = parity(children)
    return odd if kind is Xor or len(children) % 2 == 1 else negated(odd)


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
    """Asks whether some visit makes the first expression true."""
    return bool(possible[0] & TRUE), possible[0] == TRUE


def is_not_true(possible: Sequence[Possible]) -> tuple[bool, bool]:
    return bool(possible[0] & NOT_TRUE), not possible[0] & TRUE


def first_without_second(possible: Sequence[Possible]) -> tuple[bool, bool]:
    """Asks whether some visit makes the first expression true and the second not."""
    first, second = is_true(possible[:1]), is_not_true(possible[1:])
    return first[0] and second[0], first[1] and second[1]


def differ(possible: Sequence[Possible]) -> tuple[bool, bool]:
    """Asks whether some visit gives the two expressions different truths."""
    first, second = possible
    is_same_single = first == second and first in (*FLAGS.values(),)
    return not is_same_single, not first & second


def resolve(node: Node, context: Context, budget: Budget) -> Node:
    """Puts known definitions in place of their names, and leaves notes out."""
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
