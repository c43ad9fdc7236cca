"""Says what changed between two expressions, in words for the people who wrote them.

    geo.country in (12 values) and device.type = 'phone'
    geo.country in (9 of them) and device.type = 'phone' and user.age >= 18
    -> geo.country from 12 to 9 values: removed AUT, BEL, CHE; added user.age >= 18

Compares what is written, part by part: conditions that stand in both are left out, the others are
paired by attribute, and groups by what they share. It does not decide whether the meaning changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from targeting.printer import print_line, print_value
from targeting.tree import (
    And,
    Group,
    Node,
    Not,
    Operand,
    Or,
    Predicate,
    Reference,
    Xnor,
    Xor,
    without_notes,
)

TOP = "the top"
REWRITTEN = "written in another way"
COMMENTED = "comments or disabled conditions changed"
MAX_CHARACTERS = 80
MAX_VALUES_NAMED = 4
MAX_GROUPS_PAIRED = 60
# Operators that are another way to write one, and whether they are its opposite.
SYNONYMS = {
    "=": ("in", False),
    "!=": ("in", True),
    "none of": ("one of", True),
    "is missing": ("is present", True),
}
# Operators whose values are a set: their order says nothing.
SETS = frozenset({"in", "one of", "all of", "only of", "under", "in network"})


def describe_difference(before: Node, after: Node) -> list[str]:
    """Lists the differences in words. The list is empty exactly when the trees are equal."""
    if before == after:
        return []
    old, new = without_notes(before), without_notes(after)
    if old == new:
        return [COMMENTED]
    found = Found()
    compare_roots(part_of(old), part_of(new), found)
    return list(found.words()) or [REWRITTEN]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A condition or a group. Equal keys mean the same, however the text is arranged.

    `is_negated` tells whether its `not`s, with a condition's own operator, turn it around."""

    node: Node
    key: Hashable
    is_negated: bool
    children: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        return shorten_text(print_line(self.node, is_root=True))


def part_of(node: Node, *, is_negated: bool = False) -> Part:
    """Looks through `not`: a denied condition is a condition of its own, not a group around one."""
    if isinstance(node, Not):
        inner = part_of(node.child, is_negated=not is_negated)
        return Part(node, inner.key, inner.is_negated, inner.children)
    if isinstance(node, And | Or | Xor | Xnor):
        return part_of_group(node, is_negated=is_negated)
    if isinstance(node, Predicate):
        return part_of_predicate(node, is_negated=is_negated)
    said = node.name if isinstance(node, Reference) else node.value
    return Part(node, (type(node).__name__, said, is_negated), is_negated)


def part_of_group(node: Group, *, is_negated: bool) -> Part:
    """Makes one part of a group and those of its kind in it; only in `xnor` the order counts."""
    children = tuple(flatten(node))
    if len(children) == 1:
        return part_of(node.children[0], is_negated=is_negated)
    keys = Counter(child.key for child in children)
    inside: Hashable = frozenset(keys.items())
    if isinstance(node, Xnor):
        inside = tuple(child.key for child in children)
    return Part(node, (type(node).__name__, inside, is_negated), is_negated, children)


def flatten(node: Group) -> Iterator[Part]:
    for child in node.children:
        if type(child) is type(node) and not isinstance(node, Xnor):
            yield from flatten(child)
        else:
            yield part_of(child)


def part_of_predicate(node: Predicate, *, is_negated: bool) -> Part:
    operator, is_opposite = SYNONYMS.get(node.operator, (node.operator, False))
    negated = is_negated ^ node.negated ^ is_opposite
    values = [exact(value) for value in node.operands]
    operands: Hashable = frozenset(values) if operator in SETS else tuple(values)
    subject = (node.attribute, node.counted, operator)
    return Part(node, ("Predicate", subject, negated, operands, node.list_name), negated)


def exact(value: object) -> Hashable:
    """Makes a key of a value: 1 and 1.0 are the same value, True and 1 are not."""
    return (isinstance(value, bool), value)


@dataclass(slots=True)
class Found:
    """What was found so far. Which conditions only moved is known when all are compared."""

    said: list[str] = field(default_factory=list)
    removed: list[tuple[Part, str]] = field(default_factory=list)
    added: list[tuple[Part, str]] = field(default_factory=list)

    def words(self) -> Iterator[str]:
        moved = take_moved(self.removed, self.added)
        yield from self.said
        yield from (f"moved {part.text} {place and 'in'}to {place or TOP}" for part, place in moved)
        yield from (f"removed {say(part)}{place and ' in '}{place}" for part, place in self.removed)
        yield from (f"added {say(part)}{place and ' in '}{place}" for part, place in self.added)


def take_moved(
    removed: list[tuple[Part, str]], added: list[tuple[Part, str]]
) -> list[tuple[Part, str]]:
    """Takes the conditions that only moved out of both lists, and returns them."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for position, (part, _) in enumerate(added):
        places[part.key].append(position)
    moved, taken, kept = [], set(), []
    for part, place in removed:
        if places[part.key]:
            position = places[part.key].pop(0)
            taken.add(position)
            moved.append(added[position])
        else:
            kept.append((part, place))
    removed[:] = kept
    added[:] = [pair for position, pair in enumerate(added) if position not in taken]
    return moved


def compare_roots(old: Part, new: Part, found: Found) -> None:
    """Compares the tops, where a single condition counts as a group of one: from `a` to `a and b`,
    `b` was added."""
    if old.key == new.key:
        return
    if is_same_group(old, new):
        compare_children(old.children, new.children, "", found)
    elif have_same_inside(old, new):
        found.said.append(say_turned(old, new))
    else:
        compare_children(conjuncts(old), conjuncts(new), "", found)


def conjuncts(part: Part) -> tuple[Part, ...]:
    return part.children if isinstance(part.node, And) else (part,)


def is_same_group(old: Part, new: Part) -> bool:
    return kind_of(old) is not None and kind_of(old) == kind_of(new)


def kind_of(part: Part) -> tuple[Hashable, bool] | None:
    """Gives a group's connective and whether it is negated; None for a condition."""
    assert isinstance(part.key, tuple)  # noqa: S101  `part_of` makes only such keys
    return (part.key[0], part.is_negated) if part.children else None


def have_same_inside(old: Part, new: Part) -> bool:
    if not old.children or not new.children:
        return False
    return Counter(p.key for p in old.children) == Counter(p.key for p in new.children)


def compare_children(old: Iterable[Part], new: Iterable[Part], place: str, found: Found) -> None:
    """Leaves out what stands in both, then pairs what was turned into its opposite, the same
    condition with other values, the same attribute tested in another way, and groups; what is left
    was removed or added."""
    left, right = without_common(list(old), list(new))
    for rule in (TURNED, OTHER_VALUES, OTHER_TEST):
        left, right = pair_by(left, right, found, rule)
    left, right = pair_groups(left, right, found)
    found.removed += [(part, place) for part in left]
    found.added += [(part, place) for part in right]


def without_common(left: list[Part], right: list[Part]) -> tuple[list[Part], list[Part]]:
    both = Counter(part.key for part in left) & Counter(part.key for part in right)
    return drop(left, Counter(both)), drop(right, Counter(both))


def drop(parts: list[Part], keys: Counter[Hashable]) -> list[Part]:
    kept = []
    for part in parts:
        if keys[part.key]:
            keys[part.key] -= 1
        else:
            kept.append(part)
    return kept


def turned_key(part: Part) -> Hashable:
    return part_of(part.node, is_negated=True).key


def subject_key(part: Part) -> Hashable | None:
    if not isinstance(part.key, tuple) or part.key[0] != "Predicate":
        return None
    _, subject, negated, _, list_name = part.key
    return (subject, negated, list_name is None)


def attribute_key(part: Part) -> Hashable | None:
    predicate = predicate_of(part)
    return predicate.attribute if predicate else None


def predicate_of(part: Part) -> Predicate | None:
    node = part.node
    while isinstance(node, Not):
        node = node.child
    return node if isinstance(node, Predicate) else None


def pair_by(
    left: list[Part], right: list[Part], found: Found, rule: Pairing
) -> tuple[list[Part], list[Part]]:
    """Pairs each left part with the first right one of its key; returns what is left of both."""
    waiting: dict[Hashable, list[Part]] = defaultdict(list)
    for part in right:
        waiting[rule.right_key(part)].append(part)
    kept, taken = [], set()
    for part in left:
        key = rule.left_key(part)
        if key is not None and waiting[key]:
            other = waiting[key].pop(0)
            taken.add(id(other))
            found.said.append(rule.say(part, other))
        else:
            kept.append(part)
    return kept, [part for part in right if id(part) not in taken]


def pair_groups(left: list[Part], right: list[Part], found: Found) -> tuple[list[Part], list[Part]]:
    """Pairs each left group with the right one that shares most with it, and compares the two;
    returns what is left of both."""
    groups = [part for part in right if part.children][:MAX_GROUPS_PAIRED]
    kept, taken = [], set()
    for part in left:
        open_groups = [other for other in groups if id(other) not in taken]
        other = max(open_groups, key=lambda it: likeness(part, it), default=None)
        if other is None or not likeness(part, other):
            kept.append(part)
            continue
        taken.add(id(other))
        if is_same_group(part, other):
            compare_children(part.children, other.children, f"({shorten(part, 40)})", found)
        else:
            found.said.append(say_became(part, other))
    return kept, [part for part in right if id(part) not in taken]


def likeness(old: Part, new: Part) -> int:
    """Measures how much two groups share: whole conditions first, then attributes; 0 is nothing."""
    if not old.children or not new.children:
        return 0
    keys = Counter(p.key for p in old.children) & Counter(p.key for p in new.children)
    if not is_same_group(old, new):
        return 1 if have_same_inside(old, new) else 0
    attributes = {attribute_key(p) for p in old.children} & {attribute_key(p) for p in new.children}
    return 100 * keys.total() + len(attributes - {None})


def say(part: Part) -> str:
    """Prints a condition, the commonest ones shorter than they are written: `device.type ctv`."""
    predicate = part.node
    if (
        isinstance(predicate, Predicate)
        and predicate.operator in ("=", "in", "one of")
        and not (predicate.negated or predicate.counted or predicate.list_name)
        and len(predicate.operands) <= MAX_VALUES_NAMED
    ):
        return shorten_text(f"{predicate.attribute} {name_values(predicate.operands)}")
    return part.text


def say_turned(old: Part, new: Part) -> str:
    if old.children and not is_opposite_of(old, new):
        return say_became(old, new)
    return f"{part_without_not(old)} is now {'denied' if new.is_negated else 'wanted'}"


def is_opposite_of(old: Part, new: Part) -> bool:
    return turned_key(old) == new.key


def part_without_not(part: Part) -> str:
    node = part.node
    while isinstance(node, Not):
        node = node.child
    return shorten_text(print_line(node, is_root=True))


def say_became(old: Part, new: Part) -> str:
    return f"{old.text} became {new.text}"


def say_values(old: Part, new: Part) -> str:
    before, after = predicate_of(old), predicate_of(new)
    if before is None or after is None or not is_membership(before) or before.list_name:
        return say_became(old, new)
    added = [value for value in after.operands if value not in before.operands]
    removed = [value for value in before.operands if value not in after.operands]
    counts = f"from {len(before.operands):,} to {len(after.operands):,} values"
    named = [f"added {name_first(added)}"] * bool(added)
    named += [f"removed {name_first(removed)}"] * bool(removed)
    return f"{before.attribute} {counts}: {', '.join(named)}"


def is_membership(predicate: Predicate) -> bool:
    operator, _ = SYNONYMS.get(predicate.operator, (predicate.operator, False))
    return operator in SETS and not predicate.counted


def name_first(values: Sequence[Operand]) -> str:
    """Names the first values: `AUT, BEL, CHE, CZE and 11 more`. The number is never cut off."""
    more = f" and {len(values) - MAX_VALUES_NAMED:,} more" * (len(values) > MAX_VALUES_NAMED)
    return shorten_text(name_values(values[:MAX_VALUES_NAMED])) + more


def name_values(values: Iterable[Operand]) -> str:
    return ", ".join(v if isinstance(v, str) else print_value(v) for v in values)


def shorten(part: Part, length: int) -> str:
    return shorten_text(print_line(part.node, is_root=True), length)


def shorten_text(text: str, length: int = MAX_CHARACTERS) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A rule that says which part of the old tree goes with which of the new one, and in which
    words. A part whose key is None pairs with nothing."""

    left_key: Callable[[Part], Hashable | None]
    right_key: Callable[[Part], Hashable | None]
    say: Callable[[Part, Part], str]


TURNED = Pairing(turned_key, lambda part: part.key, say_turned)
OTHER_VALUES = Pairing(subject_key, subject_key, say_values)
OTHER_TEST = Pairing(attribute_key, attribute_key, say_became)
