"""Says an expression in plain English, for people who did not write it.

    geo.country in ('FRA', 'DEU') and device.type = 'phone' and segments none of ('sports')
    -> Visits from FRA or DEU, on phone, not in audience sports

Meant to be read, not parsed back. Phrases go by the attribute's name, then by its type.
"""

from __future__ import annotations

from targeting.catalog import Attribute, AttributeType, Catalog
from targeting.expression import Expression
from targeting.printer import print_value
from targeting.tree import And, Constant, Node, Not, Operand, Or, Predicate, Reference, Xor

MAX_LISTED = 6
# How definitions are named in the index; people call an audience by its own name alone.
AUDIENCE = "audience."
EDGE = "edge."

# The word before an attribute's values: "from FRA", "on phone".
LEADS = {
    "geo.country": "from",
    "geo.region": "from",
    "geo.city": "from",
    "device.type": "on",
    "device.os": "on",
    "site.domain": "on",
    "app.bundle": "in",
    "segments": "in audience",
    "user.segments": "in audience",
    "publisher": "of publisher",
}
COMPARISONS = {
    "=": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
TEXT_TESTS = {
    "starts with": "starts with",
    "ends with": "ends with",
    "contains": "contains",
    "like": "looks like",
    "under": "is under",
    "in network": "is in the network",
}
OPPOSITES = {
    "is": "is not",
    "starts with": "does not start with",
    "ends with": "does not end with",
    "contains": "does not contain",
    "looks like": "does not look like",
}


def describe(expression: Expression) -> str:
    """Describes an expression in one sentence, without a full stop."""
    root = expression.root
    if isinstance(root, Constant):
        return "All visits" if root.value else "No visits"
    parts = root.children if isinstance(root, And) else (root,)
    return f"Visits {', '.join(phrase(part, expression.catalog) for part in parts)}"


def phrase_alone(node: Node, catalog: Catalog) -> str:
    """Phrases a node that stands by itself: a group then needs no brackets."""
    said = phrase(node, catalog)
    return said[1:-1] if isinstance(node, And | Or) else said


def phrase(node: Node, catalog: Catalog) -> str:
    if isinstance(node, Predicate):
        return phrase_predicate(node, catalog[node.attribute])
    if isinstance(node, Reference):
        return phrase_reference(node, is_denied=False)
    if isinstance(node, Constant):
        return "of any kind" if node.value else "of no kind"
    if isinstance(node, Not):
        return phrase_not(node.child, catalog)
    joint = {And: " and ", Or: " or "}.get(type(node))
    phrases = [phrase(child, catalog) for child in node.children]
    if joint:
        return f"({joint.join(phrases)})"
    quantity = "an odd number" if isinstance(node, Xor) or len(phrases) % 2 else "an even number"
    return f"with {quantity} of ({'; '.join(phrases)})"


def phrase_reference(node: Reference, *, is_denied: bool) -> str:
    if node.name.startswith(EDGE):
        return f"that {'do not pass' if is_denied else 'pass'} {node.name}"
    return f"{'not ' if is_denied else ''}in audience {node.name.removeprefix(AUDIENCE)}"


def phrase_not(child: Node, catalog: Catalog) -> str:
    if isinstance(child, Reference):
        return phrase_reference(child, is_denied=True)
    if isinstance(child, Predicate):
        turned = Predicate(
            child.attribute,
            child.operator,
            child.operands,
            not child.negated,
            child.counted,
            child.list_name,
        )
        return phrase_predicate(turned, catalog[child.attribute])
    return f"not {phrase(child, catalog)}"


def phrase_predicate(node: Predicate, attribute: Attribute) -> str:
    name = name_of(attribute)
    if node.counted:
        compared = f"{COMPARISONS[node.operator]} {listed(node)}"
        return f"where the number of {name} {turn(compared, node.negated)}"
    if node.operator in ("is present", "is missing"):
        is_known = (node.operator == "is present") != node.negated
        return f"{'with' if is_known else 'without'} {name}"
    if node.operator == "is empty":
        return f"with {'some' if node.negated else 'no'} {name}"
    if attribute.type is AttributeType.BOOLEAN:
        wanted = node.operator == "is true" or (node.operator == "=") == node.operands[0]
        return f"with {name}" if wanted != node.negated else f"where {name} is false"
    if node.operator in ("within", "inside polygon", "during"):
        return phrase_place(node, name)
    if attribute.type in (AttributeType.STRING_SET, AttributeType.INTEGER_SET):
        return phrase_set(node, attribute, name)
    return phrase_scalar(node, attribute, name)


def name_of(attribute: Attribute) -> str:
    """Names an attribute by its description, or by its name where the description is a sentence."""
    if attribute.description and not attribute.description.endswith("."):
        return attribute.description
    return attribute.name.replace("_", " ").replace(".", " ")


def turn(words: str, negated: bool) -> str:
    if not negated:
        return words
    for plain, opposite in OPPOSITES.items():
        if words.startswith(plain):
            return opposite + words[len(plain) :]
    return f"not ({words})"


def phrase_place(node: Predicate, name: str) -> str:
    denied = "not " if node.negated else ""
    if node.operator == "during":
        return f"{denied}during {node.operands[0]} ({name})"
    if node.operator == "within":
        latitude, longitude, km = (print_value(value) for value in node.operands)
        return f"{denied}within {km} km of {latitude}, {longitude}"
    return f"{denied}inside an area of {len(node.operands) // 2} points"


def phrase_set(node: Predicate, attribute: Attribute, name: str) -> str:
    is_denied = node.negated != (node.operator == "none of")
    lead = LEADS.get(attribute.name, f"with {name}")
    values = listed(node, "and" if node.operator == "all of" else "or")
    if node.operator == "only of":
        values = f"only {values}"
    return f"{'not ' if is_denied else ''}{lead} {values}"


def phrase_scalar(node: Predicate, attribute: Attribute, name: str) -> str:
    if node.operator in ("=", "!=", "in"):
        is_denied = node.negated != (node.operator == "!=")
        lead = LEADS.get(attribute.name)
        if lead:
            return f"{'not ' if is_denied else ''}{lead} {listed(node)}"
        return f"where {name} is {'not ' if is_denied else ''}{listed(node)}"
    if node.operator == "between":
        low, high = (shown(value) for value in node.operands)
        return f"where {name} is {'not ' if node.negated else ''}between {low} and {high}"
    words = COMPARISONS.get(node.operator) or TEXT_TESTS[node.operator]
    return f"where {name} {turn(f'{words} {listed(node)}', node.negated)}"


def shown(value: Operand) -> str:
    return value if isinstance(value, str) else print_value(value)


def listed(node: Predicate, joint: str = "or") -> str:
    """Lists the values as people do: `a, b or c`."""
    if node.list_name is not None:
        return f"the list {node.list_name}"
    values = [shown(value) for value in node.operands]
    if len(values) > MAX_LISTED:
        return f"{', '.join(values[: MAX_LISTED - 1])} {joint} {len(values) - MAX_LISTED + 1} more"
    if len(values) == 1:
        return values[0]
    return f"{', '.join(values[:-1])} {joint} {values[-1]}"
