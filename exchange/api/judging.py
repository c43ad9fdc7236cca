"""Writes what the live check says of an expression, given as text or in its JSON form.

    {valid, text, canonical, document, spans, errors, sentence, warnings}

Places count characters (code points): lines and columns from 1, spans from 0 with their ends
excluded. A path leads from the root of the JSON form to a node, `and.2.not.or.0`; the root's is "".
"""

from __future__ import annotations

from typing import Any

from exchange.market.advice import Hint, Place, advise, place_of
from exchange.market.services import check_expression
from exchange.market.strange_values import StrangeValue
from targeting import DocumentError, ExpressionError
from targeting.documents import from_document, to_document
from targeting.printer import print_tree
from targeting.spans import Spans, find_path, printed_spans, spans_of

Document = dict[str, Any]
NOWHERE = {"line": None, "column": None, "length": None}


def judge_text(
    text: str, *, organisation_id: int | None, name: str | None, printed: Spans | None = None
) -> Document:
    """Judges a text; `printed` is where its conditions stand, if it was printed from a document."""
    try:
        expression = check_expression(text=text, organisation_id=organisation_id, name=name)
    except ExpressionError as error:
        return refusal(text, describe_errors(error, text, printed))
    spans = spans_of(expression, text)
    advice = advise(expression, text, spans)
    return {
        "valid": True,
        "text": text,
        "canonical": expression.text,
        "document": to_document(expression.root),
        "spans": spans,
        "errors": [],
        "sentence": advice.sentence,
        "warnings": [describe_hint(hint, text) for hint in advice.hints],
    }


def judge_document(document: Any, *, organisation_id: int | None, name: str | None) -> Document:
    try:
        root = from_document(document)
    except DocumentError as error:
        said = {"code": "document", "message": error.message, "suggestion": None}
        return refusal(None, [{**said, **NOWHERE, "path": error.path}])
    text = print_tree(root)
    printed = printed_spans(root, text)
    return judge_text(text, organisation_id=organisation_id, name=name, printed=printed)


def refusal(text: str | None, errors: list[Document]) -> Document:
    return {
        "valid": False,
        "text": text,
        "canonical": None,
        "document": None,
        "spans": {},
        "errors": errors,
        "sentence": None,
        "warnings": [],
    }


def describe_errors(error: ExpressionError, text: str, printed: Spans | None) -> list[Document]:
    """Describes errors. Only what came as a document has paths: a wrong text has no tree."""
    return [
        {
            "code": problem.code,
            "line": problem.line,
            "column": problem.column,
            "length": problem.length,
            "message": problem.message,
            "suggestion": problem.suggestion,
            "path": None if printed is None else find_path(problem, text, printed),
        }
        for problem in error.errors
    ]


def describe_hint(hint: Hint, text: str) -> Document:
    return {
        "kind": hint.kind,
        "message": hint.message,
        "suggestion": hint.suggestion,
        "paths": hint.paths,
        "values": [describe_value(value, text) for value in hint.values],
        **describe_place(hint.place),
    }


def describe_value(strange: StrangeValue, text: str) -> Document:
    return {
        "value": strange.value,
        "replacement": strange.replacement,
        "message": strange.message,
        "suggestion": strange.suggestion,
        **describe_place(place_of(text, *strange.span) if strange.span else None),
    }


def describe_place(place: Place | None) -> Document:
    if place is None:
        return NOWHERE
    return {"line": place.line, "column": place.column, "length": place.length}
