"""Whatever comes in, an ExpressionError comes out, soon: never a crash, a hang or a leak."""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher_ext.language import ExpressionError, Normal, normalise_many
from targeting import parse
from tests.targeting.strategies import CATALOG, quick, texts

# Tells a hang, such as a normal form that doubles with each condition, from a slow machine:
# the largest of these takes a twentieth of a second.
HANG_SECONDS = 30


def nested_xors(levels: int) -> str:
    text = "flag"
    for level in range(levels):
        text = f"(age = {level} {'and' if level % 2 else 'or'} ({text} xor price = {level}))"
    return text


REFUSED = {
    "a mebibyte": ("x" * 2**20, "text_too_long"),
    "a mebibyte of conditions": ("age = 1 or " * 95_000 + "flag", "text_too_long"),
    "a hundred thousand open brackets": ("(" * 100_000, "text_too_long"),
    "as many open brackets as fit": ("(" * 65_536, "too_deep"),
    "a deep not chain": ("not " * 10_000 + "flag", "too_deep"),
    "deep brackets": ("(" * 101 + "flag" + ")" * 101, "too_deep"),
    "deep alternation": (" xor ".join(["flag xnor flag"] * 101), "too_deep"),
    "too many conditions": (" or ".join(["flag"] * 5_001), "too_many_predicates"),
    "too many values": (f"age in ({','.join(['1'] * 10_001)})", "too_many_values"),
    "a lone surrogate": ("geo.country = '\ud800'", "not_unicode"),
    "an escaped lone surrogate": (r"geo.country = '\udc00'", "bad_escape"),
    "a half surrogate pair": (r"geo.country = '\ud83dx'", "bad_escape"),
    "quotes only": ("'" * 60_001, "expected_condition"),
    "comments only": ("#" * 60_000, "empty_text"),
    "closing brackets only": (")" * 60_000, "expected_condition"),
    "a zero byte": ("flag\x00flag", "unexpected_character"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_within_moments(name: str) -> None:
    text, code = REFUSED[name]
    started = time.process_time()
    with pytest.raises(ExpressionError) as raised:
        parse(text, CATALOG)
    assert time.process_time() - started < HANG_SECONDS
    assert raised.value.errors[0].code == code


ACCEPTED = {
    "a hundred brackets": "(" * 100 + "flag" + ")" * 100,
    "ninety-nine nots": "not " * 99 + "flag",
    "an xor chain of 64": " xor ".join(f"age = {n}" for n in range(64)),
    "an xnor chain of 4000": " xnor ".join(f"age={n}" for n in range(4000)),
    "the same nested xors twice": f"{nested_xors(30)} or {nested_xors(30)}",
    "five thousand conditions": " or ".join(["age=1"] * 5_000),
    "ten thousand values": f"age in ({','.join(str(n) for n in range(10_000))})",
    "a zero byte in a text": "geo.country = 'a\x00b'",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_takes_the_largest_allowed_within_moments(name: str) -> None:
    started = time.process_time()
    expression = parse(ACCEPTED[name], CATALOG)
    form = Normal(CATALOG.compiled, ACCEPTED[name])
    assert time.process_time() - started < HANG_SECONDS
    visit = {"age": 3, "flag": True, "price": 1.0, "geo.country": "a\x00b"}
    assert form.evaluate(visit) is expression.evaluate(visit)
    assert parse(expression.text, CATALOG) == expression


@quick
@given(st.text(max_size=200))
def test_any_text_parses_or_is_refused(text: str) -> None:
    check(text)


@quick
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    check(data.decode("latin-1"))
    check(data.decode("utf-8", errors="surrogateescape"))


@quick
@given(texts(with_notes=True, with_references=True), st.randoms(use_true_random=False))
def test_mutated_expressions_parse_or_are_refused(text: str, source: random.Random) -> None:
    pieces = ["(", ")", "'", "\\", "#", "#-", "@", "$", ",", " and ", " not ", "\n", "é", "0", "."]
    for _ in range(source.randint(1, 4)):
        at, end = sorted((source.randrange(len(text) + 1), source.randrange(len(text) + 1)))
        text = text[:at] + source.choice(pieces) + text[at if source.random() < 0.7 else end :]
    check(text)


@quick
@given(texts(with_notes=True), st.integers(0, 200))
def test_truncated_expressions_parse_or_are_refused(text: str, length: int) -> None:
    check(text[:length])


def check(text: str) -> None:
    """Parses; whatever is accepted must print back, whatever is refused must say where."""
    try:
        expression = parse(text, CATALOG)
    except ExpressionError as error:
        check_places(text, error)
    else:
        assert parse(expression.text, CATALOG) == expression


def check_places(text: str, error: ExpressionError) -> None:
    lines = text.split("\n")
    assert error.errors
    for problem in error.errors:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.length >= 0
        assert problem.message


def test_refused_texts_of_a_bulk_are_counted_and_the_others_taken() -> None:
    nodes, predicates, failed = normalise_many(
        CATALOG.compiled, ["flag", "nope = 1", "age = 1 and flag", "(" * 70_000]
    )
    assert (nodes, predicates, failed) == (4, 3, 2)


def test_parsing_leaks_nothing() -> None:
    good, bad = REFUSED["an escaped lone surrogate"][0], ACCEPTED["an xor chain of 64"]

    def parse_both() -> None:
        for text in (good, bad) * 50:
            check(text)

    parse_both()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    parse_both()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000
