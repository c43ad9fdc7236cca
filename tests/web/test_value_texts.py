"""Values as they are pasted: nothing is lost without a word, and every word has its line."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from exchange.accounts.models import Organisation, User
from exchange.market.models import ValueList
from exchange.market.services import save_value_list
from exchange.web.value_texts import load_lines, read_values, write_value

PRINTABLE = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"], whitelist_characters='",;\t'),
    min_size=1,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a\nb\r\nc\rd", ["a", "b", "c", "d"]),
        ("a, b;c\td", ["a", "b", "c", "d"]),
        (",a,, b ,\n\n", ["a", "b"]),
        ('"with, comma"', ["with, comma"]),
        ('"a", "b;c" ,d', ["a", "b;c", "d"]),
        ('""', []),
        ('"""quoted"""', ['"quoted"']),
        ('"two "" inside"', ['two " inside']),
        ('12"\nrock "n" roll', ['12"', 'rock "n" roll']),
        ('" a "', [" a "]),
    ],
)
def test_reads_values_as_csv_writes_them(text: str, values: list[str]) -> None:
    assert read_values(text).values == values


@pytest.mark.parametrize("bad", ['"open', '"a" b', 'fine, "open', '"a"b"', '"'])
def test_a_quote_that_does_not_end_is_told_with_its_line(bad: str) -> None:
    with pytest.raises(ValidationError, match=r"^\['Line 3: a value begins with a quote"):
        read_values(f"a\n\n{bad}\nb")


def test_knows_the_line_of_each_value() -> None:
    assert list(read_values("a\n\nb, c\nd").lines) == [1, 3, 3, 4]


@given(st.lists(PRINTABLE))
def test_what_is_downloaded_can_be_uploaded_again(values: list[str]) -> None:
    assert read_values("".join(f"{write_value(value)}\n" for value in values)).values == values


@pytest.mark.parametrize(
    ("kind", "values", "lines"),
    [
        ("string", ["b", "NULL", "ü, é", "tab\t"], 'NULL\nb\n"tab\t"\n"ü, é"\n'),
        ("integer", [10, -3], "-3\n10\n"),
    ],
)
@pytest.mark.django_db
def test_a_version_is_written_as_lines_once(
    kind: str,
    values: list[str | int],
    lines: str,
    erin: User,
    operator: Organisation,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Shares what the first one waited for among twenty who download it."""
    made = ValueList(organisation=operator, name="some", type=kind)
    save_value_list(value_list=made, values=values, by=erin)
    with django_assert_num_queries(1):
        first, second = load_lines(made.pk, 1), load_lines(made.pk, 1)
    assert first is second
    assert first.decode() == lines
