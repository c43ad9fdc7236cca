from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given

from targeting import Attribute, AttributeType, Catalog, parse
from targeting.analysis import analyse
from targeting.fixes import Change
from targeting.tree import And, Constant, Node, Not, Or, Predicate, Xnor, Xor
from tests.targeting.strategies import CATALOG as EVERYTHING
from tests.targeting.strategies import quick, texts, visits

CATALOG = Catalog.of(
    **{"geo.country": "string", "age": "integer", "flag": "boolean", "segments": "string set"}
)


def fixes(text: str, visit: dict[str, Any]) -> list[tuple[str, str]]:
    explanation = parse(text, CATALOG).explain(visit)
    return [(fix.text, fix.change.value) for fix in explanation.fixes]


def test_shows_each_nodes_truth_and_the_visits_value() -> None:
    explanation = parse("geo.country = 'US' and not (age < 18 or flag)", CATALOG).explain(
        {"geo.country": "DE", "age": 17.5, "flag": False}
    )
    assert explanation.to_json() == {
        "kind": "and",
        "truth": False,
        "children": [
            {
                "kind": "condition",
                "text": "geo.country = 'US'",
                "truth": False,
                "value": "DE",
                "malformed": False,
                "attribute": "geo.country",
            },
            {
                "kind": "not",
                "truth": None,
                "children": [
                    {
                        "kind": "or",
                        "truth": None,
                        "children": [
                            {
                                "kind": "condition",
                                "text": "age < 18",
                                "truth": None,
                                "value": None,
                                "malformed": True,
                                "attribute": "age",
                            },
                            {
                                "kind": "condition",
                                "text": "flag",
                                "truth": False,
                                "value": False,
                                "malformed": False,
                                "attribute": "flag",
                            },
                        ],
                    }
                ],
            },
        ],
        "matches": False,
        "lacking": [],
        "fixes": [],
    }


def test_names_the_one_condition_that_failed() -> None:
    visit = {"geo.country": "US", "age": 17}
    assert fixes("geo.country = 'US' and age >= 18", visit) == [
        ("age >= 18", "met"),
        ("age >= 18", "dropped"),
    ]


def test_names_nothing_when_two_conditions_failed() -> None:
    assert fixes("geo.country = 'US' and age >= 18", {"geo.country": "DE", "age": 17}) == []


def test_names_nothing_when_it_matches() -> None:
    assert fixes("age >= 18", {"age": 18}) == []


def test_each_alternative_of_an_or_is_a_fix() -> None:
    assert fixes("geo.country = 'US' or flag", {"geo.country": "DE", "flag": False}) == [
        ("geo.country = 'US'", "met"),
        ("flag", "met"),
    ]


def test_under_a_negation_the_condition_must_fail() -> None:
    visit = {"geo.country": "US", "segments": ["sports"]}
    assert fixes("geo.country = 'US' and not (segments one of ('sports'))", visit) == [
        ("segments one of ('sports')", "not met"),
        ("segments one of ('sports')", "dropped"),
    ]


def test_looks_into_definitions_but_drops_only_the_reference() -> None:
    definitions = {"adults": parse("age >= 18 and flag", CATALOG)}
    expression = parse("geo.country = 'US' and @adults", CATALOG, definitions=definitions)
    explanation = expression.explain({"geo.country": "US", "age": 20, "flag": False})
    assert [(fix.text, fix.change.value) for fix in explanation.fixes] == [
        ("@adults", "met"),
        ("@adults", "dropped"),
        ("flag", "met"),
    ]


def test_conditions_of_a_definition_used_twice_are_not_called_fixes() -> None:
    definitions = {"adults": parse("age >= 18 and flag", CATALOG)}
    text = "@adults and (geo.country = 'US' or @adults)"
    expression = parse(text, CATALOG, definitions=definitions)
    explanation = expression.explain({"geo.country": "US", "age": 20, "flag": False})
    assert [(fix.text, fix.change.value) for fix in explanation.fixes] == [("@adults", "dropped")]


def test_shared_definitions_do_not_multiply() -> None:
    definitions = {f"d{n}": parse(f"@d{n + 1} and @d{n + 1}", CATALOG) for n in range(60)}
    definitions["d60"] = parse("flag", CATALOG)
    expression = parse("@d0", CATALOG, definitions=definitions)
    assert expression.evaluate({"flag": True}) is True
    assert len(list(expression.explain({"flag": False}).walk())) < 300
    assert not analyse(expression).is_decided


def test_names_the_required_attributes_that_a_visit_lacks() -> None:
    catalog = Catalog([Attribute("consent", AttributeType.BOOLEAN, required=True)])
    explanation = parse("true", catalog).explain({"consent": "yes"})
    assert (explanation.truth, explanation.matches) == (True, False)
    assert explanation.lacking == ("consent",)
    assert explanation.fixes == ()


def test_a_condition_in_two_places_is_not_called_a_fix() -> None:
    assert fixes("(flag and age = 1) or (flag and age = 2)", {"flag": False, "age": 1}) == [
        ("flag", "dropped")
    ]


def change(node: Node, wanted: Node, by: Node | None) -> Node | None:
    """Gives the tree with one leaf replaced, or dropped (None)."""
    if node is wanted:
        return by
    if isinstance(node, Not):
        below = change(node.child, wanted, by)
        return None if below is None else Not(below)
    if isinstance(node, And | Or | Xor | Xnor):
        children = [change(child, wanted, by) for child in node.children]
        return replace(node, children=tuple(child for child in children if child is not None))
    return node


@quick
@given(texts(), visits())
def test_a_fix_makes_it_match(text: str, visit: dict[str, Any]) -> None:
    expression = parse(text, EVERYTHING)
    for fix in expression.explain(visit).fixes:
        assert isinstance(fix.node, Predicate)
        by = None if fix.change is Change.DROPPED else Constant(fix.change is Change.MET)
        changed = change(expression.root, fix.node, by)
        assert changed is not None
        assert type(expression)(changed, EVERYTHING).evaluate(visit) is True
