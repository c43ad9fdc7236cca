"""Disabled conditions stay in the text, above the next one that stays, and are not evaluated."""

from __future__ import annotations

import pytest

from targeting import Catalog, parse
from targeting.disabling import disable
from targeting.printer import print_tree
from targeting.tree import And

CATALOG = Catalog.of(a="integer", b="integer", c="string")


def disabled(text: str, *places: int) -> str:
    root = parse(text, CATALOG).root
    assert isinstance(root, And)
    return print_tree(disable(root, places))


@pytest.mark.parametrize(
    ("places", "text", "is_met"),
    [
        ((0,), "#- a > 1\n(b > 2 or c = 'x')\nand c != 'y'", True),
        ((1,), "a > 1\n#- (b > 2 or c = 'x')\nand c != 'y'", False),
        ((2,), "a > 1\n#- c != 'y'\nand (b > 2 or c = 'x')", False),
        ((0, 1), "#- a > 1\n#- (b > 2 or c = 'x')\nc != 'y'", True),
    ],
)
def test_what_is_disabled_is_a_note_of_a_neighbour(
    places: tuple[int, ...], text: str, is_met: bool
) -> None:
    assert disabled("a > 1 and (b > 2 or c = 'x') and c != 'y'", *places) == text
    assert parse(text, CATALOG).evaluate({"a": 0, "b": 3, "c": "z"}) is is_met


def test_comments_stay_with_what_they_are_about() -> None:
    text = "# evenings\na > 1 and (# why\nb > 2 or c = 'x')\nand c != 'y'"
    assert disabled(text, 0, 1) == ("# evenings\n#- a > 1\n# why\n#- (b > 2 or c = 'x')\nc != 'y'")
