"""What changed between two expressions: each kind of change in words, and never nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher_ext.language import Normal
from targeting import Catalog, parse
from targeting.differences import COMMENTED, REWRITTEN, describe_difference
from targeting.printer import print_tree
from targeting.tree import And, Node, Not, Or, Xnor, Xor, children_of, walk
from tests.targeting.strategies import CATALOG as WIDE
from tests.targeting.strategies import texts as expressions
from tests.targeting.strategies import trees

CATALOG = Catalog.of(
    **{
        "geo.country": "string",
        "device.type": "string",
        "user.age": "integer",
        "segments": "string set",
        "gdpr": "boolean",
    }
)
TWELVE = ", ".join(f"'C{n:02}'" for n in range(12))
NINE = ", ".join(f"'C{n:02}'" for n in range(9))
SEVEN = ", ".join(f"'C{n:02}'" for n in range(7))


def said(before: str, after: str) -> list[str]:
    return describe_difference(parse(before, CATALOG).root, parse(after, CATALOG).root)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            f"geo.country in ({TWELVE})",
            f"geo.country in ({NINE}) and device.type = 'ctv'",
            [
                "geo.country from 12 to 9 values: removed C09, C10, C11",
                "added device.type ctv",
            ],
        ),
        (
            f"geo.country in ({TWELVE})",
            f"geo.country in ({SEVEN}, 'X')",
            ["geo.country from 12 to 8 values: added X, removed C07, C08, C09, C10 and 1 more"],
        ),
        (
            "geo.country = 'USA'",
            "geo.country in ('USA', 'CAN')",
            ["geo.country from 1 to 2 values: added CAN"],
        ),
        (
            "segments none of ('a', 'b')",
            "segments none of ('b', 'c')",
            ["segments from 2 to 2 values: added c, removed a"],
        ),
        ("user.age >= 18", "user.age >= 21", ["user.age >= 18 became user.age >= 21"]),
        (
            "user.age >= 18 and gdpr",
            "user.age between 18 and 65 and gdpr",
            ["user.age >= 18 became user.age between 18 and 65"],
        ),
        ("device.type = 'ctv'", "device.type != 'ctv'", ["device.type = 'ctv' is now denied"]),
        ("not (gdpr)", "gdpr", ["gdpr is now wanted"]),
        (
            "gdpr and not (user.age < 5 or segments is empty)",
            "gdpr and (user.age < 5 or segments is empty)",
            ["user.age < 5 or segments is empty is now wanted"],
        ),
        ("gdpr and user.age > 5", "gdpr", ["removed user.age > 5"]),
        (
            "gdpr and user.age > 5",
            "gdpr or user.age > 5",
            ["gdpr and user.age > 5 became gdpr or user.age > 5"],
        ),
        (
            "gdpr and (device.type = 'ctv' or geo.country = 'USA')",
            "gdpr and (device.type = 'ctv' or geo.country = 'USA' or user.age > 60)",
            ["added user.age > 60 in (device.type = 'ctv' or geo.country = 'U…)"],
        ),
        (
            "gdpr and user.age > 5 and (device.type = 'ctv' or segments is empty)",
            "gdpr and (device.type = 'ctv' or segments is empty or user.age > 5)",
            ["moved user.age > 5 into (device.type = 'ctv' or segments is empty)"],
        ),
        (
            "gdpr and (device.type = 'ctv' or segments is empty or user.age > 5)",
            "gdpr and user.age > 5 and (device.type = 'ctv' or segments is empty)",
            ["moved user.age > 5 to the top"],
        ),
        ("gdpr and @sports", "gdpr and @news", ["removed @sports", "added @news"]),
        ("gdpr and @sports", "gdpr and not @sports", ["@sports is now denied"]),
        (
            "geo.country in ('A', 'B')",
            "geo.country in $core",
            ["geo.country in ('A', 'B') became geo.country in $core"],
        ),
        (
            "geo.country in $core",
            "geo.country in $all",
            ["geo.country in $core became geo.country in $all"],
        ),
        ("true", "gdpr", ["removed true", "added gdpr"]),
        ("gdpr", "gdpr # by law", [COMMENTED]),
        ("gdpr and user.age > 5", "user.age > 5 and gdpr", [REWRITTEN]),
        ("geo.country = 'USA'", "geo.country in ('USA')", [REWRITTEN]),
        ("segments one of ('a')", "not segments none of ('a')", [REWRITTEN]),
        ("gdpr and gdpr", "gdpr", ["removed gdpr"]),
    ],
)
def test_every_kind_of_change_has_its_words(before: str, after: str, words: list[str]) -> None:
    assert said(before, after) == words


def test_a_long_list_of_changes_stays_readable() -> None:
    values = ", ".join(f"'{n:06}'" for n in range(5_000))
    (words,) = said(f"gdpr and not (geo.country in ({values}))", "gdpr")
    assert words.startswith("removed not geo.country in ('000000'")
    assert len(words) < 100


@given(expressions())
def test_nothing_changed_is_no_difference(text: str) -> None:
    assert describe_difference(parse(text, WIDE).root, parse(text, WIDE).root) == []


@given(expressions(), expressions())
def test_another_meaning_is_never_without_words(before: str, after: str) -> None:
    old, new = parse(before, WIDE).root, parse(after, WIDE).root
    words = describe_difference(old, new)
    assert bool(words) == (old != new)
    is_same = Normal(WIDE.compiled, before).to_json() == Normal(WIDE.compiled, after).to_json()
    if not is_same:
        assert words not in ([], [COMMENTED], [REWRITTEN])


@given(trees(), st.data())
def test_one_other_condition_is_found_however_deep_it_stands(
    tree: Node, data: st.DataObject
) -> None:
    """Compares nearly equal trees, where a comparison would overlook something."""
    leaves = [node for node in walk(tree) if not children_of(node)]
    place = data.draw(st.integers(0, len(leaves) - 1))
    other = parse(print_tree(data.draw(trees(max_leaves=2))), WIDE).root
    before, after = print_tree(tree), print_tree(exchange_leaf(tree, [place], other))
    words = describe_difference(parse(before, WIDE).root, parse(after, WIDE).root)
    if Normal(WIDE.compiled, before).to_json() != Normal(WIDE.compiled, after).to_json():
        assert words not in ([], [COMMENTED], [REWRITTEN])


def exchange_leaf(node: Node, place: list[int], other: Node) -> Node:
    """Exchanges one leaf, to which `place` counts down."""
    if isinstance(node, Not):
        return replace(node, child=exchange_leaf(node.child, place, other))
    if isinstance(node, And | Or | Xor | Xnor):
        children = tuple(exchange_leaf(child, place, other) for child in node.children)
        return replace(node, children=children)
    place[0] -= 1
    return other if place[0] == -1 else node


@given(expressions(), expressions(), expressions(), st.sampled_from(["and", "or"]))
def test_what_was_added_is_removed_on_the_way_back(
    first: str, second: str, third: str, joint: str
) -> None:
    """Shows that a condition more in one direction is a condition less in the other."""
    shorter = parse(f"({first}) {joint} ({second})", WIDE).root
    longer = parse(f"({first}) {joint} ({second}) {joint} ({third})", WIDE).root
    there, back = describe_difference(shorter, longer), describe_difference(longer, shorter)
    assert bool(there) == bool(back) == (shorter != longer)
