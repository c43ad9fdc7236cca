"""Every wrong expression of the error table gives exactly the words and places written there.

`error_table.json` is meant to be read as prose: it is what a campaign manager sees.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from matcher_ext.language import ExpressionError
from matcher_ext.language.messages import FIXED, WORDING
from matcher_ext.values import ProblemCode
from targeting import Catalog, parse

TABLE = json.loads((Path(__file__).parent / "error_table.json").read_text())
CATALOG = Catalog.from_json(TABLE["catalogue"])


@pytest.mark.parametrize("row", TABLE["wrong"], ids=lambda row: repr(row["text"]))
def test_says_what_is_wrong_and_where(row: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(row["text"], CATALOG)
    assert [asdict(error) for error in raised.value.errors] == row["errors"]


def test_every_code_has_words() -> None:
    named_by_definitions = {ProblemCode.UNKNOWN_DEFINITION, ProblemCode.DEFINITION_CYCLE}
    assert set(ProblemCode) == set(FIXED) | set(WORDING) | named_by_definitions


def test_reports_all_problems_of_a_text_in_their_order() -> None:
    with pytest.raises(ExpressionError) as raised:
        parse("agee = 1 or\n(segments = 'x' and price = 'y') or flag flag", CATALOG)
    places = [(error.line, error.column, error.code) for error in raised.value.errors]
    assert places == [
        (1, 1, "unknown_attribute"),
        (2, 11, "wrong_operator"),
        (2, 29, "wrong_value"),
        (2, 42, "expected_connective"),
    ]


def test_columns_count_characters_not_bytes() -> None:
    with pytest.raises(ExpressionError) as raised:
        parse("geo.country = '日本😀' and 'ü' = 1", CATALOG)
    assert (raised.value.errors[0].column, raised.value.errors[0].length) == (25, 3)


def test_stops_after_fifty_problems() -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(" or ".join(["nope = 1"] * 500), CATALOG)
    assert len(raised.value.errors) == 50


def test_an_error_reads_as_one_line_per_problem() -> None:
    with pytest.raises(ExpressionError) as raised:
        parse("agee = 1 or flag = 1", CATALOG)
    assert str(raised.value) == (
        "line 1, column 1: unknown attribute `agee` (did you mean `age`?)\n"
        "line 1, column 20: `1` does not fit `flag`, which is true or false "
        "(write `true` or `false`)"
    )
