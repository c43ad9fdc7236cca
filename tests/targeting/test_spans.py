"""Where nodes stand in their text."""

from __future__ import annotations

from hypothesis import given

from matcher_ext.language import ExpressionError
from targeting import parse
from targeting.documents import from_document, to_document
from targeting.printer import print_tree
from targeting.spans import find_path, printed_spans, spans_of
from targeting.tree import Constant, Predicate, Reference, walk_paths
from tests.targeting.strategies import CATALOG, quick, texts


def parts_of(text: str) -> dict[str, str]:
    spans = spans_of(parse(text, CATALOG), text)
    return {path: text[start:end] for path, (start, end) in spans.items()}


def test_every_node_has_its_place_in_the_text_as_it_was_typed() -> None:
    text = "flag  and\n( age>1 or not(price = 2) ) # why 😀\nand geo.country in ('日本', '😀')"
    assert parts_of(text) == {
        "": text,
        "and.0": "flag",
        "and.1": "age>1 or not(price = 2)",
        "and.1.or.0": "age>1",
        "and.1.or.1": "not(price = 2)",
        "and.1.or.1.not": "price = 2",
        "and.2": "geo.country in ('日本', '😀')",
    }


def test_places_count_characters_not_bytes() -> None:
    text = "geo.country = '😀日' and flag"
    assert parts_of(text)["and.1"] == "flag"


def test_what_is_joined_has_the_paths_of_the_joined_tree() -> None:
    assert parts_of("(flag and age = 1) and price = 2") == {
        "": "(flag and age = 1) and price = 2",
        "and.0": "flag",
        "and.1": "age = 1",
        "and.2": "price = 2",
    }


@quick
@given(texts())
def test_the_places_of_all_conditions_parse_to_the_conditions(text: str) -> None:
    expression = parse(text, CATALOG)
    spans = spans_of(expression, text)
    nodes = dict(walk_paths(expression.root))
    assert list(spans) == list(nodes)
    for path, node in nodes.items():
        start, end = spans[path]
        if isinstance(node, Predicate):
            read = parse(text[start:end], CATALOG).root
            assert isinstance(read, Predicate)
            assert (read.attribute, read.operator, read.operands) == (
                node.attribute,
                node.operator,
                node.operands,
            )


@quick
@given(texts())
def test_printed_conditions_stand_where_the_parser_finds_them(text: str) -> None:
    root = parse(text, CATALOG).root
    printed = print_tree(root)
    found = spans_of(parse(printed, CATALOG), printed)
    leaves = {p for p, n in walk_paths(root) if isinstance(n, Constant | Reference | Predicate)}
    assert printed_spans(root, printed) == {p: s for p, s in found.items() if p in leaves}


def test_a_problem_leads_to_its_condition() -> None:
    document = to_document(parse("# who\nflag and not (age = 1 or price = 2)", CATALOG).root)
    document["and"][1]["not"]["or"][1]["values"] = ["dear"]
    root = from_document(document)
    text = print_tree(root)
    try:
        parse(text, CATALOG)
    except ExpressionError as error:
        (problem,) = error.errors
    assert find_path(problem, text, printed_spans(root, text)) == "and.1.not.or.1"
