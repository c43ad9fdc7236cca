"""Laws that hold for every expression and visit, checked on random ones."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from matcher_ext.language import Normal, read_warnings
from targeting import Expression, parse
from targeting.tree import Xnor, Xor, walk
from targeting.visits import type_visit
from tests.targeting.normal_texts import text_of
from tests.targeting.strategies import CATALOG, quick, texts, visits


@quick
@given(texts(with_notes=True, with_references=True))
def test_printing_and_parsing_gives_the_expression_back(text: str) -> None:
    expression = parse(text, CATALOG)
    assert parse(expression.text, CATALOG) == expression
    assert parse(expression.text, CATALOG).text == expression.text


@quick
@given(texts(with_notes=True, with_references=True))
def test_the_json_form_loses_nothing(text: str) -> None:
    expression = parse(text, CATALOG)
    document = json.loads(json.dumps(expression.to_json()))
    assert Expression.from_json(document, CATALOG) == expression


@quick
@given(texts(), visits())
def test_the_normal_form_has_the_same_truth_as_the_tree(text: str, visit: dict[str, Any]) -> None:
    expected = parse(text, CATALOG).evaluate(visit)
    assert Normal(CATALOG.compiled, text).evaluate(visit) is expected


@quick
@given(texts(), visits())
def test_undefined_may_count_as_false_after_normalisation(text: str, visit: dict[str, Any]) -> None:
    """Shows the A-Tree paper's zero suppression: negation is in the predicates, so matches stay."""
    matches = parse(text, CATALOG).evaluate(visit) is True
    assert Normal(CATALOG.compiled, text).matches(visit) is matches


@quick
@given(
    texts(with_references=True),
    visits(),
    st.fixed_dictionaries(
        {name: st.sampled_from(("true", "false", "age = 1")) for name in ("edge.17", "a", "b-c")}
    ),
)
def test_definitions_keep_their_third_truth_value(
    text: str, visit: dict[str, Any], named: dict[str, str]
) -> None:
    definitions = {name: parse(definition, CATALOG) for name, definition in named.items()}
    truths = {name: definition.evaluate(visit) for name, definition in definitions.items()}
    expected = parse(text, CATALOG, definitions=definitions).evaluate(visit)
    assert Normal(CATALOG.compiled, text).evaluate(visit, truths) is expected


@quick
@given(texts(max_leaves=30))
def test_the_normal_form_is_at_most_twice_the_size_of_the_tree(text: str) -> None:
    """Counts an xor as the three connectives that it stands for, once per operand but one."""
    size = sum(
        3 * (len(node.children) - 1) if isinstance(node, Xor | Xnor) else 1
        for node in walk(parse(text, CATALOG).root)
    )
    assert Normal(CATALOG.compiled, text).size() <= 2 * size


@quick
@given(texts(with_references=True))
def test_the_normal_form_is_idempotent(text: str) -> None:
    once = Normal(CATALOG.compiled, text).to_json()
    assert Normal(CATALOG.compiled, text_of(once)).to_json() == once


@quick
@given(texts())
def test_a_double_negation_has_the_same_normal_form(text: str) -> None:
    plain = Normal(CATALOG.compiled, text).to_json()
    assert Normal(CATALOG.compiled, f"not (not ({text}))").to_json() == plain


@quick
@given(visits())
def test_both_readers_find_the_same_values_malformed(visit: dict[str, Any]) -> None:
    assert read_warnings(CATALOG.compiled, visit) == list(type_visit(CATALOG, visit).malformed)


@quick
@given(texts(), visits())
def test_explain_tells_the_truth_of_evaluate(text: str, visit: dict[str, Any]) -> None:
    expression = parse(text, CATALOG)
    assert expression.explain(visit).truth is expression.evaluate(visit)
