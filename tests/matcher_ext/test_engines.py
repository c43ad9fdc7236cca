"""Every published matcher gives the answers of the plain evaluator, after any changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.workloads import ADS, SYNTHETIC, Parameters, open_parameters
from matcher_ext import DuplicateIdError, ExpressionError, UnknownDefinitionError, UnknownIdError
from matcher_ext.engines import ENGINES, EngineLimitError
from targeting import Catalog, parse
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits


def list_variants(first: str, second: str) -> list[tuple[str, dict[str, Any]]]:
    """Lists each engine as it comes, and with every switch away from its default; two
    attributes."""
    switches: dict[str, list[dict[str, Any]]] = {
        "dexin": [{"method": "exclusive"}, {"method": "inclusive"}, {"order": "optimal"}],
        "gryphon": [{"collapse": False}, {"successors": True}, {"factored": (first, second)}],
        "paper-atree": [{"reorganise": True, "self_adjust": True}],
        "suborder": [{"costs": {first: 5.0}}],
    }
    return [(name, options) for name in ENGINES for options in [{}, *switches.get(name, [])]]


# Exclusive ors are shared in a normal form; written out they have 300 squared leaves, and far more
# conjunctions.
CHAIN = " xor ".join(f"(age >= {bound})" for bound in range(300))
# For a decision diagram it is the order that counts: all of the left before all of the right.
LEFT = [f"age = {number}" for number in range(16)]
RIGHT = [f"score = {number}" for number in range(16)]
PAIRS = " or ".join(f"({left} and {right})" for left, right in zip(LEFT, RIGHT, strict=True))
UNLIMITED = {"scan", "atree", "paper-atree"}


def make_engines() -> Iterator[tuple[str, Any]]:
    for name, options in list_variants("age", "country"):
        yield f"{name} {options}", ENGINES[name](CATALOG, **options)


@given(st.data(), st.lists(texts(), max_size=10), st.lists(visits(), min_size=1, max_size=3))
@settings(deadline=None, max_examples=60)
def test_all_agree_with_the_evaluator_after_inserts_and_deletes_in_any_order(
    data: st.DataObject, expressions: list[str], seen: list[dict[str, Any]]
) -> None:
    engines = dict(make_engines())
    refused: set[tuple[str, int]] = set()
    entries: dict[int, str] = {}
    steps = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=12))
    for number, text in enumerate(expressions):
        entries[number] = text
        refused |= {(name, number) for name in insert(engines, number, text)}
        for kind, place in steps[number::10]:
            if kind == 0 and entries:
                gone = sorted(entries)[place % len(entries)]
                del entries[gone]
                for name, engine in engines.items():
                    if (name, gone) not in refused:
                        engine.delete(gone)
            elif kind == 1:
                check(engines, entries, refused, seen[place % len(seen)])
    for visit in seen:
        check(engines, entries, refused, visit)


def insert(engines: dict[str, Any], number: int, text: str) -> Iterator[str]:
    """Yields the engines that the expression is beyond."""
    for name, engine in engines.items():
        size = len(engine)
        try:
            engine.insert(number, text)
        except EngineLimitError:
            assert len(engine) == size
            yield name


def check(
    engines: dict[str, Any],
    entries: dict[int, str],
    refused: set[tuple[str, int]],
    visit: dict[str, Any],
) -> None:
    expected = judge(entries, {}, visit)
    for name, engine in engines.items():
        own = [number for number in expected if (name, number) not in refused]
        assert engine.match(visit) == own, name


@pytest.fixture(scope="module", params=[SYNTHETIC, ADS], ids=["synthetic", "ads"])
def workload(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Catalog, list[str], list[dict[str, int]], list[list[int]]]:
    """Makes a small named workload, of few attributes, so that most of an expression's are in a
    visit."""
    parameters: Parameters = request.param
    small = replace(parameters, expressions=150, visits=20, attributes=12, values=20, children=3)
    made = open_parameters(small, tmp_path_factory.mktemp("workload"))
    catalog = Catalog.of(**dict.fromkeys(made.attribute_names, "integer"))
    expressions = [parse(text, catalog) for text in made.expressions()]
    seen = made.visits()
    expected = [
        [i for i, one in enumerate(expressions) if one.evaluate(visit) is True] for visit in seen
    ]
    return catalog, made.expressions(), seen, expected


@pytest.mark.parametrize(("name", "options"), list_variants("a0", "a1"))
def test_answers_a_named_workload(name: str, options: dict[str, Any], workload: Any) -> None:
    catalog, expressions, seen, expected = workload
    engine = ENGINES[name](catalog, **options)
    refused = set()
    for number, text in enumerate(expressions):
        try:
            engine.insert(number, text)
        except EngineLimitError:
            refused.add(number)
    assert len(refused) < len(expressions) // 4
    matches = 0
    for visit, ids in zip(seen, expected, strict=True):
        matched = engine.match(visit)
        assert matched == [number for number in ids if number not in refused]
        matches += len(matched)
    assert matches > 50
    stats = engine.stats()
    assert stats["entries"] == len(engine) == len(expressions) - len(refused)
    assert stats["bytes"] > 0
    assert stats["nodes"] > 0
    assert stats["visits"] == len(seen)
    assert name == "atree" or stats["visited"] + stats["tested"] > 0


@pytest.mark.parametrize("name", ENGINES)
def test_refuses_what_an_index_refuses(name: str) -> None:
    engine = ENGINES[name](CATALOG)
    engine.insert(1, "true")
    with pytest.raises(DuplicateIdError):
        engine.insert(1, "true")
    with pytest.raises(UnknownIdError):
        engine.delete(2)
    with pytest.raises(UnknownDefinitionError):
        engine.insert(2, "@edge")
    with pytest.raises(ExpressionError):
        engine.insert(2, "age =")
    assert engine.match({}) == [1]


@pytest.mark.parametrize("name", sorted(set(ENGINES) - UNLIMITED))
def test_an_expression_beyond_a_limit_is_refused_whole(name: str) -> None:
    engine = ENGINES[name](CATALOG)
    engine.insert_many(range(32), [*LEFT, *RIGHT])
    before = engine.stats()
    with pytest.raises(EngineLimitError, match="max_") as error:
        engine.insert_many([50, 51], ["mobile", PAIRS if name == "bdd" else CHAIN])
    assert error.value.limit.startswith("max_")
    after = engine.stats()
    for key in ("entries", "predicates"):
        assert after[key] == before[key] == 32
    assert engine.match({"age": 4, "score": 5, "mobile": True}) == [4, 21]


@pytest.mark.parametrize("name", sorted(UNLIMITED))
def test_the_rest_take_a_chain_of_exclusive_ors(name: str) -> None:
    engine = ENGINES[name](CATALOG)
    engine.insert(1, CHAIN)
    assert engine.match({"age": 4}) == [1]
    assert engine.match({"age": 3}) == []


def test_a_missing_required_attribute_fails_everything() -> None:
    required = {"name": "country", "type": "string", "required": True}
    catalog = Catalog.from_json({"attributes": [{"name": "age", "type": "integer"}, required]})
    for name, make in ENGINES.items():
        engine = make(catalog)
        engine.insert_many([1, 2], ["true", "age = 1"])
        assert engine.match({"age": 1}) == [], name
        assert engine.match({"age": 1, "country": "FRA"}) == [1, 2], name
