"""Long lists mean what short ones mean, for the evaluator and for the analysis."""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targeting import Catalog, Expression, parse
from targeting import long_lists as module
from targeting.analysis import FindingKind, analyse, analyse_path
from targeting.regions import float_at, place_of_float
from tests.targeting.strategies import slow

MILLION = 1_000_000
CATALOG = Catalog.of(
    s="string",
    host="string",
    i="integer",
    f="float",
    texts="string set",
    numbers="integer set",
    ip="ip",
    t="timestamp",
)
TEXTS = ("a", "b", "ab", "\x01")
HOSTS = ("a.com", "x.a.com", "org", "b.org", "COM")
NUMBERS = (0, 1, 2, 4)
NETWORKS = ("10.0.0.0/8", "10.0.0.0/31", "10.0.0.1/32", "::ffff:0:0/96", "2001:db8::/32")
TIMES = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00+01:00", "2026-01-03T00:00:00Z")
VALUES: dict[str, tuple[Any, ...]] = {
    "s": TEXTS,
    "host": HOSTS,
    "i": NUMBERS,
    "f": NUMBERS,
    "texts": TEXTS,
    "numbers": NUMBERS,
    "ip": NETWORKS,
    "t": TIMES,
}
LISTING = {
    "s": ("in",),
    "host": ("in", "under"),
    "i": ("in",),
    "f": ("in",),
    "texts": ("one of", "all of", "none of", "only of"),
    "numbers": ("one of", "all of", "none of", "only of"),
    "ip": ("in network",),
    "t": ("in",),
}
OTHERS = {
    "s": ("s = 'a'", "s != 'b'", "s starts with 'a'", "s contains 'b'", "s is missing"),
    "i": ("i = 1", "i != 2", "i < 2", "i between 1 and 3", "i is present"),
    "f": ("f <= 1", "f > 1.5", "f = 0.5", "f between 0 and 1"),
    "texts": ("texts is empty", "count(texts) > 1", "count(texts) = 2", "count(texts) < 4"),
    "numbers": ("numbers is not empty", "count(numbers) >= 3"),
}


def subsets(elements: tuple[Any, ...]) -> list[list[Any]]:
    sizes = range(len(elements) + 1)
    return [list(each) for each in chain(*(combinations(elements, size) for size in sizes))]


# Every class of values that conditions on the lists above can tell apart, and None: it is missing.
DOMAINS: dict[str, list[Any]] = {
    "s": [None, *TEXTS, "z", "az", "bz", "abz", "zb", "zab", "ba", "bab"],
    "i": [None, *range(-1, 7)],
    "f": [None, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 3.0, 4.0, 5.0],
    "texts": [None, *subsets((*TEXTS, "y1", "y2", "y3"))],
    "numbers": [None, *subsets((*NUMBERS, 7, 8, 9))],
}


@st.composite
def conditions(draw: st.DrawFn, attribute: str, lists: dict[str, tuple[Any, ...]]) -> str:
    """Adds to the lists where it uses one."""
    if attribute in OTHERS and draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(OTHERS[attribute]))
    values = tuple(draw(st.lists(st.sampled_from(VALUES[attribute]), min_size=1, unique=True)))
    name = draw(st.sampled_from([*lists, f"l{len(lists)}"]))
    lists.setdefault(name, values)
    negation = draw(st.sampled_from(("", "not ")))
    return f"{attribute} {negation}{draw(st.sampled_from(LISTING[attribute]))} ${name}"


@st.composite
def expressions(draw: st.DrawFn, attribute: str) -> Expression:
    lists: dict[str, tuple[Any, ...]] = {}
    text = draw(conditions(attribute, lists))
    for _ in range(draw(st.integers(0, 3))):
        connective = draw(st.sampled_from(("and", "and", "or", "xor")))
        text = f"({text}) {connective} {draw(conditions(attribute, lists))}"
    return parse(text, CATALOG, lists=lists)


@pytest.fixture(params=[2, MILLION], ids=["kept", "not kept"])
def all_lists_are_long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", 1)
    monkeypatch.setattr(module, "KEPT", request.param)


def truths(expression: Expression, attribute: str) -> set[bool | None]:
    found = set()
    for value in DOMAINS[attribute]:
        found.add(expression.evaluate({} if value is None else {attribute: value}))
    return found


@pytest.mark.usefixtures("all_lists_are_long")
@pytest.mark.parametrize("attribute", DOMAINS)
@slow
@given(data=st.data())
def test_finds_what_trying_every_value_finds(attribute: str, data: st.DataObject) -> None:
    expression = data.draw(expressions(attribute))
    analysis = analyse(expression)
    found = truths(expression, attribute)
    if analysis.is_decided:
        always = any(
            finding.kind is FindingKind.ALWAYS and finding.conditions == (expression.text,)
            for finding in analysis.findings
        )
        assert bool(analyse_path(expression, []).findings) == (True not in found)
        assert always == (found == {True})


@pytest.mark.usefixtures("all_lists_are_long")
@pytest.mark.parametrize("attribute", ["s", "i", "texts", "numbers"])
@slow
@given(data=st.data())
def test_decides_all_that_lists_and_comparisons_can_ask(
    attribute: str, data: st.DataObject
) -> None:
    expression = data.draw(expressions(attribute))
    if " with " not in expression.text and "contains" not in expression.text:
        assert analyse_path(expression, []).is_decided


@pytest.mark.parametrize("attribute", LISTING)
@slow
@given(data=st.data())
def test_the_evaluator_says_the_same_of_a_list_as_a_whole(
    attribute: str, data: st.DataObject
) -> None:
    expression = data.draw(expressions(attribute))
    visit = {attribute: data.draw(visit_values(attribute))}
    plain = expression.evaluate(visit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "KEPT", 1)
        assert expression.evaluate(visit) is plain


def visit_values(attribute: str) -> st.SearchStrategy[Any]:
    if attribute in DOMAINS:
        return st.sampled_from(DOMAINS[attribute][1:])
    return {
        "host": st.sampled_from([*HOSTS, "y.x.a.com.", "A.COM", "xa.com", "net"]),
        "ip": st.sampled_from(
            ["10.0.0.0", "10.0.0.1", "10.9.9.9", "11.0.0.1", "2001:db8::1", "::"]
        ),
        "t": st.sampled_from([*TIMES, "2026-01-01T23:00:00Z", "2026-02-01T00:00:00Z"]),
    }[attribute]


TOWNS = tuple(f"town-{i:07}" for i in range(MILLION))
LISTS: dict[str, tuple[Any, ...]] = {
    "towns": TOWNS,
    "half": TOWNS[: MILLION // 2],
    "others": tuple(f"other-{i}" for i in range(MILLION)),
    "threes": tuple(range(0, 3 * MILLION, 3)),
    "ones": tuple(range(1, 3 * MILLION, 3)),
    "hosts": tuple(f"h{i}.example" for i in range(MILLION)),
}
NEVER = (
    ("s in $towns", "s = 'elsewhere'"),
    ("s in $towns", "s not in $towns"),
    ("s in $towns", "s in $others"),
    ("s in $half", "s not in $towns"),
    ("i in $threes", "i between 4 and 5"),
    ("i in $threes", "i in $ones"),
    ("f in $threes", "f > 3 and f < 6"),
    ("texts one of $towns", "texts none of $towns"),
    ("texts only of $towns", "texts one of $others"),
    ("texts all of $towns", "count(texts) < 5"),
    ("numbers all of $threes", "numbers only of $ones"),
)
FINE = (
    ("s in $towns", "s not in $half"),
    ("s in $towns", "s in $half or s = 'elsewhere'"),
    ("s in $towns", "s ends with '77'"),
    ("i not in $threes", "i between 3 and 4"),
    ("i in $threes", "i < 1"),
    ("texts one of $towns", "texts none of $half"),
    ("numbers one of $threes", "count(numbers) = 1"),
)


def analyse_pair(campaign: str, edge: str) -> Any:
    rules = [("one", parse(edge, CATALOG, lists=LISTS))]
    return analyse_path(parse(campaign, CATALOG, lists=LISTS), rules, budget=20_000)


@pytest.mark.parametrize(("campaign", "edge"), NEVER)
def test_a_million_values_exclude_what_they_exclude(campaign: str, edge: str) -> None:
    analysis = analyse_pair(campaign, edge)
    assert [finding.kind for finding in analysis.findings] == [FindingKind.CONFLICT]
    assert analysis.is_decided


@pytest.mark.parametrize(("campaign", "edge"), FINE)
def test_a_million_values_exclude_nothing_else(campaign: str, edge: str) -> None:
    analysis = analyse_pair(campaign, edge)
    assert not analysis.findings
    assert analysis.is_decided


def test_says_when_there_are_more_values_than_it_may_look_at() -> None:
    lists = {f"l{i}": tuple(range(i, MILLION, 7)) for i in range(14)}
    text = " or ".join(f"i in ${name}" for name in lists)
    assert not analyse_path(parse(text, CATALOG, lists=lists), []).is_decided


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("ip in network $l", tuple(f"10.0.{i // 256}.{i % 256}" for i in range(50_000))),
        ("t in $l", tuple(f"2026-01-01T00:00:00.{i:05}Z" for i in range(50_000))),
    ],
)
def test_does_not_read_long_lists_of_what_is_read_one_by_one(
    condition: str, values: tuple[str, ...]
) -> None:
    analysis = analyse(parse(condition, CATALOG, lists={"l": values}))
    assert analysis.findings == ()
    assert not analysis.is_decided


def test_two_lists_of_hosts_are_two() -> None:
    lists = {"a": ("a.com",), "b": ("x.a.com",)}
    both = parse("host under $a and host not under $b", CATALOG, lists=lists)
    assert both.evaluate({"host": "a.com"}) is True
    assert not analyse(both).findings
    lists["b"] = ("com",)
    narrower = parse("host under $a and host not under $b", CATALOG, lists=lists)
    assert FindingKind.NEVER in {finding.kind for finding in analyse(narrower).findings}


def test_thousands_of_conditions_on_one_attribute_are_given_up() -> None:
    text = " or ".join(f"i = {i}" for i in range(5_000))
    assert not analyse(parse(text, CATALOG)).is_decided


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_has_a_place(value: float) -> None:
    assert float_at(place_of_float(value)) == value
    following = math.nextafter(value, math.inf)
    if math.isfinite(following):
        assert float_at(place_of_float(value) + 1) == following
