"""The normal form: what different ways of writing one condition become."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from matcher_ext import CompiledCatalog, ExpressionError
from matcher_ext.language import Normal, check_text, normalise_many, read_warnings
from tests.targeting.strategies import CATALOG

COMPILED = CATALOG.compiled

# Texts in a row have one and the same normal form.
ALIKE = (
    (
        "geo.country = 'US'",
        "geo.country in ('US')",
        "geo.country in ('US', 'US')",
        "geo.country == 'US'",
    ),
    ("geo.country != 'US'", "geo.country not in ('US')", "not geo.country = 'US'"),
    ("geo.country in ('a', 'b')", "geo.country in ('b', 'a', 'b')"),
    ("flag", "flag = true", "flag != false", "not (flag = false)", "not not flag"),
    ("age < 18", "age <= 17", "not (age >= 18)", "not age > 17"),
    ("age between 5 and 5", "age = 5"),
    ("age is missing", "age is not present", "not (age is present)"),
    ("segments is empty", "count(segments) = 0", "count(segments) <= 0", "count(segments) < 1"),
    ("segments all of ('a')", "segments one of ('a')"),
    ("segments none of ('b', 'a')", "not (segments one of ('a', 'b'))"),
    ("geo.country like 'a*'", "geo.country starts with 'a'"),
    ("geo.country like '*a'", "geo.country ends with 'a'"),
    ("geo.country like '*a*'", "geo.country contains 'a'"),
    ("geo.country like 'abc'", "geo.country = 'abc'"),
    ("site.host under ('a.com', 'x.a.com')", "site.host under ('A.com.')"),
    ("ip = '10.0.0.1'", "ip in network ('10.0.0.1/32')", "ip in network ('::ffff:10.0.0.1')"),
    ("ip in network ('10.0.0.0/8', '10.1.0.0/16')", "ip in network ('10.0.0.0/8')"),
    ("time > '2026-11-15T00:00:00Z'", "time > '2026-11-15T01:00:00+01:00'"),
    ("time during 'Mon, Tue'", "time during 'Mon-Tue 00:00-24:00'"),
    ("price = -0.0", "price = 0"),
    (
        "age = 1 and flag",
        "flag and age = 1",
        "flag and (age = 1 and flag)",
        "(flag) and age = 1 and true",
    ),
    ("not (age = 1 and flag)", "age != 1 or not flag"),
    ("age = 1 or false", "age = 1", "age = 1 and (true or flag)", "age = 1 or age = 1"),
    ("true or age = 1", "true", "not false"),
    ("flag xor true", "not flag"),
    ("flag xor age = 1", "age = 1 xor flag", "not (flag xnor age = 1)", "not flag xor age != 1"),
    ("@a and @a", "@a", "not not @a"),
)


@pytest.mark.parametrize("texts", ALIKE, ids=lambda texts: texts[0])
def test_different_texts_have_one_normal_form(texts: tuple[str, ...]) -> None:
    first, *others = (Normal(COMPILED, text).to_json() for text in texts)
    assert all(other == first for other in others)


DIFFERENT = (
    ("age < 18", "age <= 18"),
    ("price < 18", "price <= 18"),
    ("price < 18", "price <= 17"),
    ("segments all of ('a', 'b')", "segments one of ('a', 'b')"),
    ("segments is empty", "segments is missing"),
    ("@a", "not @a"),
    ("@a", "@b"),
    ("geo.country = 'us'", "geo.country = 'US'"),
    ("geo.country like 'a*b'", "geo.country like 'a?b'"),
    ("flag xor age = 1", "flag or age = 1"),
)


@pytest.mark.parametrize("texts", DIFFERENT, ids=lambda texts: " / ".join(texts))
def test_different_meanings_have_different_normal_forms(texts: tuple[str, str]) -> None:
    assert Normal(COMPILED, texts[0]).to_json() != Normal(COMPILED, texts[1]).to_json()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 18", {"attribute": "age", "test": "<=", "negated": True, "values": [17]}),
        ("not @edge.17", {"reference": "edge.17", "negated": True}),
        (
            "time during 'Sun 23:00-01:00'",
            {
                "attribute": "time",
                "test": "during",
                "negated": False,
                "values": [0, 60, 10020, 10080],
            },
        ),
        (
            "age < -9223372036854775808",
            {"attribute": "age", "test": "<", "negated": False, "values": [-(2**63)]},
        ),
    ],
)
def test_predicates_are_canonical(text: str, expected: Any) -> None:
    assert Normal(COMPILED, text).to_json() == expected


def test_an_xor_chain_of_64_stays_small() -> None:
    form = Normal(COMPILED, " xor ".join(f"age = {n}" for n in range(64)))
    assert form.size() <= 2 * (64 + 3 * 63)


def test_the_order_of_nodes_does_not_depend_on_the_process() -> None:
    """Hashes are of content and unseeded, so files made by different processes agree."""
    text = "age = 1 and flag and geo.country = 'US' and price > 1 and segments is empty"
    program = (
        "from tests.matcher_ext.test_language import COMPILED, Normal; "
        f'print(Normal(COMPILED, """{text}""").to_json())'
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(Normal(COMPILED, text).to_json())


def test_an_unresolved_list_cannot_be_normalised() -> None:
    with pytest.raises(ExpressionError, match=r"unknown list `\$x`"):
        Normal(COMPILED, "age = 1 or age in $x")
    assert normalise_many(COMPILED, ["age in $x", "age = 1"])[2] == 1
    assert normalise_many(COMPILED.with_lists({"x": [1]}), ["age in $x", "age = 1"])[2] == 0


def test_compositions_are_not_bound_by_the_limits_on_what_people_write() -> None:
    text = " or ".join(f"age = {n}" for n in range(10_000))
    with pytest.raises(ExpressionError, match="longer than 64 KiB"):
        check_text(COMPILED, text)
    check_text(COMPILED, text, composed=True)


def test_the_bulk_path_leaves_the_interpreter_to_others() -> None:
    """Shows that while one thread parses in bulk, another can run Python."""
    texts = [f"age = {n} and geo.country in ('a', 'b') and flag" for n in range(200_000)]
    ticks = []
    worker = threading.Thread(target=normalise_many, args=(COMPILED, texts))
    worker.start()
    while worker.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    assert len(ticks) > 5


def test_names_malformed_values_once_and_in_order() -> None:
    visit = {"price": "1", "age": 1.5, "geo.country": "US", "segments": ["a", 1], "unknown": 1}
    assert read_warnings(COMPILED, visit) == ["age", "price", "segments"]


def test_a_list_holds_texts_or_integers() -> None:
    with pytest.raises(TypeError, match="list x: values must be all texts or all integers"):
        CompiledCatalog([], lists={"x": ["a", 1]})  # type: ignore[dict-item]
