from __future__ import annotations

from typing import Any

import pytest

from targeting import DocumentError, Expression, ExpressionError, parse
from tests.targeting.strategies import CATALOG

DOCUMENTS: dict[str, dict[str, Any]] = {
    "flag": {"attribute": "flag", "operator": "is true"},
    "age >= 18": {"attribute": "age", "operator": ">=", "values": [18]},
    "age not between 1 and 2": {
        "attribute": "age",
        "operator": "between",
        "negated": True,
        "values": [1, 2],
    },
    "count(segments) > 2": {
        "attribute": "segments",
        "operator": ">",
        "count": True,
        "values": [2],
    },
    "geo.country in $eea": {"attribute": "geo.country", "operator": "in", "list": "eea"},
    "place within 5 km of (48.85, 2.35)": {
        "attribute": "place",
        "operator": "within",
        "values": [48.85, 2.35, 5.0],
    },
    "place inside polygon ((0, 0), (0, 1), (1, 1))": {
        "attribute": "place",
        "operator": "inside polygon",
        "values": [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
    },
    "not (true or @edge.17)": {"not": {"or": [{"constant": True}, {"reference": "edge.17"}]}},
    "flag xor flag xnor flag".replace("xnor", "xor"): {
        "xor": [{"attribute": "flag", "operator": "is true"}] * 3
    },
}


@pytest.mark.parametrize("text", DOCUMENTS)
def test_gives_each_node_its_json_form(text: str) -> None:
    assert parse(text, CATALOG).to_json() == DOCUMENTS[text]
    assert Expression.from_json(DOCUMENTS[text], CATALOG).text == text


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (None, ""),
        ([], ""),
        ({}, ""),
        ({"and": [], "or": []}, ""),
        ({"and": []}, "and"),
        ({"and": "x"}, "and"),
        ({"and": [{"nor": []}]}, "and.0.nor"),
        ({"constant": "true"}, "constant"),
        ({"reference": "a b"}, "reference"),
        ({"reference": "a or @b"}, "reference"),
        ({"not": {"or": [5]}}, "not.or.0"),
        ({"attribute": "age = 1 or age", "operator": "=", "values": [1]}, "attribute"),
        ({"attribute": "age", "operator": "= 1 or age =", "values": [1]}, "operator"),
        ({"attribute": "age"}, "operator"),
        ({"attribute": "age", "operator": "between", "values": [1]}, "values"),
        ({"attribute": "age", "operator": "=", "values": [1, 2]}, "values"),
        ({"attribute": "age", "operator": "=", "values": 1}, "values"),
        ({"attribute": "age", "operator": "in", "values": [{}]}, "values"),
        ({"attribute": "age", "operator": "in", "list": "a)"}, "list"),
        ({"constant": True, "notes": [5]}, "notes"),
        ({"constant": True, "notes": "x"}, "notes"),
    ],
)
def test_says_where_a_document_is_wrong(document: Any, path: str) -> None:
    with pytest.raises(DocumentError) as raised:
        Expression.from_json(document, CATALOG)
    assert raised.value.path == path


@pytest.mark.parametrize(
    "document",
    [
        {"attribute": "agee", "operator": "=", "values": [1]},
        {"attribute": "age", "operator": "=", "values": ["1"]},
        {"attribute": "age", "operator": "in", "values": []},
        {"attribute": "segments", "operator": "=", "values": ["a"]},
        {"attribute": "price", "operator": "=", "values": [float("inf")]},
        {"attribute": "age", "operator": "=", "negated": True, "values": [1]},
    ],
)
def test_types_are_checked_by_the_one_parser(document: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError):
        Expression.from_json(document, CATALOG)


def test_a_document_without_end_is_refused() -> None:
    document: dict[str, Any] = {"constant": True}
    for _ in range(5000):
        document = {"not": document}
    with pytest.raises(DocumentError, match="nested too deep"):
        Expression.from_json(document, CATALOG)


def test_notes_become_one_line_each() -> None:
    document = {
        "constant": True,
        "notes": [{"text": "two\nlines"}, {"text": "x", "disabled": True}],
    }
    assert Expression.from_json(document, CATALOG).text == "# two lines\n#- x\ntrue"


def test_whole_numbers_that_a_browser_would_round_are_texts() -> None:
    text = f"age in ({2**53}, 7, {-(2**63)})"
    document = parse(text, CATALOG).to_json()
    assert document["values"] == [{"integer": str(2**53)}, 7, {"integer": str(-(2**63))}]
    assert Expression.from_json(document, CATALOG).text == text


@pytest.mark.parametrize("value", [{"integer": "1 or flag"}, {"integer": 7}, {"integer": "1e3"}])
def test_nothing_but_a_whole_number_is_one(value: Any) -> None:
    with pytest.raises(DocumentError) as raised:
        Expression.from_json({"attribute": "age", "operator": "=", "values": [value]}, CATALOG)
    assert raised.value.path == "values"
