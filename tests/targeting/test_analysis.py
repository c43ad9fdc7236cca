from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targeting import Attribute, AttributeType, Catalog, parse
from targeting.analysis import Analysis, FindingKind, analyse, analyse_path
from tests.targeting.strategies import CATALOG, slow, texts, visits

NEVER = (
    "age = 1 and age = 2",
    "age >= 18 and age < 18",
    "age between 1 and 5 and age not in (1, 2, 3, 4, 5)",
    "price > 1 and price < 1.0",
    "flag and not flag",
    "flag xor flag",
    "age is missing and age >= 18",
    "geo.country = 'US' and geo.country in ('DE', 'FR')",
    "geo.country = 'a' and geo.country starts with 'b'",
    "geo.country starts with 'ab' and geo.country starts with 'x'",
    "geo.country ends with 'b' and geo.country not contains 'b'",
    "site.host under ('a.com') and site.host under ('b.org')",
    "site.host under ('x.a.com') and site.host not under ('a.com')",
    "segments one of ('a') and segments none of ('a', 'b')",
    "segments only of ('a') and segments one of ('b')",
    "segments is empty and segments all of ('a')",
    "count(segments) > 3 and segments only of ('a', 'b')",
    "count(ids) < 2 and ids all of (1, 2)",
    "ip in network ('10.0.0.0/8') and ip = '11.0.0.1'",
    "time during 'Mon' and time during 'Tue'",
    "local during 'Mon 10:00-11:00' and local during 'Mon 11:00-12:00'",
    "time >= '2026-11-16T00:00:00Z' and time < '2026-11-15T00:00:00Z'",
    "place within 5 km of (1, 1) and not (place within 5 km of (1, 1))",
)
ALWAYS = (
    "age is present or age is missing",
    "age = 1 or age != 1 or age is missing",
    "flag or not flag or flag is missing",
    "true or age = 1",
    "geo.country starts with 'a' or geo.country not starts with 'ab' or geo.country is missing",
)
FINE = (
    "age = 1 or age != 1",  # not of a visit without an age
    "age >= 18 and age <= 18",
    "price > 1.5 and price < 1.5000001",
    "geo.country = 'ab' and geo.country starts with 'a'",
    "segments one of ('a') and segments one of ('b')",
    "count(segments) = 2 and segments only of ('a', 'b')",
    "time during 'Sat 22:00-02:00' and time during 'Sun'",
    "flag xnor flag",
    "true",
)


def kinds(analysis: Analysis) -> set[FindingKind]:
    return {finding.kind for finding in analysis.findings}


@pytest.mark.parametrize("text", NEVER)
def test_finds_contradictions(text: str) -> None:
    analysis = analyse(parse(text, CATALOG))
    assert kinds(analysis) == {FindingKind.NEVER}


@pytest.mark.parametrize("text", ALWAYS)
def test_finds_tautologies(text: str) -> None:
    assert FindingKind.ALWAYS in kinds(analyse(parse(text, CATALOG)))


@pytest.mark.parametrize("text", FINE)
def test_does_not_cry_wolf(text: str) -> None:
    found = kinds(analyse(parse(text, CATALOG)))
    assert not found & {FindingKind.NEVER, FindingKind.ALWAYS}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >= 18 and age >= 21", "`age >= 18` adds nothing to `age >= 21`"),
        ("age >= 18 or age >= 21", "`age >= 21` adds nothing to `age >= 18`"),
        ("age >= 18 and age is present", "`age is present` adds nothing to `age >= 18`"),
        ("flag and (age = 1 or age = 1)", "`age = 1` is there twice"),
        ("not (age > 5 and age > 3)", "`age > 3` adds nothing to `age > 5`"),
        (
            "segments all of ('a', 'b') and segments one of ('a', 'c')",
            "`segments one of ('a', 'c')` adds nothing to `segments all of ('a', 'b')`",
        ),
        (
            "flag or (age = 1 and age = 2)",
            "`age = 1` and `age = 2` are never true together",
        ),
    ],
)
def test_names_the_conditions(text: str, message: str) -> None:
    assert [finding.message for finding in analyse(parse(text, CATALOG)).findings] == [message]


def test_further_down_every_truth_value_counts() -> None:
    """Shows that under `not`, `age is present` is not idle: without an age the whole is true."""
    assert analyse(parse("not (age >= 18 and age is present)", CATALOG)).findings == ()


def test_names_the_edge_and_the_campaign_that_exclude_each_other() -> None:
    catalog = Catalog.of(**{"device.type": "string", "age": "integer"})
    campaign = parse("age > 5 and device.type = 'phone'", catalog)
    analysis = analyse_path(
        campaign,
        [
            ("Acme -> Initech", parse("age < 100", catalog)),
            ("Acme -> Globex", parse("age > 3 and device.type = 'ctv'", catalog)),
        ],
    )
    assert [finding.message for finding in analysis.findings] == [
        "the campaign needs `device.type = 'phone'`, "
        "edge Acme -> Globex needs `device.type = 'ctv'`: never eligible"
    ]


def test_a_path_without_conflict_is_no_finding() -> None:
    campaign = parse("age > 5", CATALOG)
    analysis = analyse_path(campaign, [("a", parse("age < 7", CATALOG))])
    assert analysis == Analysis((), is_decided=True)


def test_looks_through_definitions_and_lists() -> None:
    definitions = {"adults": parse("age >= 18", CATALOG)}
    lists = {"teens": range(13, 20)}
    text = "@adults and age in $teens and age < 18"
    expression = parse(text, CATALOG, definitions=definitions, lists=lists)
    assert [finding.conditions for finding in analyse(expression).findings] == [
        ("age >= 18", "age < 18")
    ]


def test_unknown_definitions_leave_it_undecided() -> None:
    analysis = analyse(parse("@adults and @minors", CATALOG))
    assert analysis == Analysis((), is_decided=False)
    assert kinds(analyse(parse("@adults and not @adults", CATALOG))) == {FindingKind.NEVER}


def test_a_required_attribute_is_never_missing() -> None:
    catalog = Catalog([Attribute("consent", AttributeType.BOOLEAN, required=True)])
    assert kinds(analyse(parse("consent is missing", catalog))) == {FindingKind.NEVER}
    assert kinds(analyse(parse("consent or not consent", catalog))) == {FindingKind.ALWAYS}


def test_retired_attributes_are_named() -> None:
    catalog = Catalog([Attribute("old", AttributeType.INTEGER, retired=True)])
    assert kinds(analyse(parse("old = 1", catalog))) == {FindingKind.RETIRED}


def test_says_when_the_budget_did_not_suffice() -> None:
    parts = [f"(ids one of ({n}) and segments one of ('{n}'))" for n in range(30)]
    analysis = analyse(parse(" or ".join(parts), CATALOG), budget=2000)
    assert analysis == Analysis((), is_decided=False)


def test_exact_places_are_left_undecided() -> None:
    text = "place within 5 km of (1, 1) and place within 5 km of (80, 80)"
    assert analyse(parse(text, CATALOG)) == Analysis((), is_decided=False)


@slow
@given(texts(max_leaves=6), st.lists(visits(), min_size=5, max_size=5))
def test_no_visit_contradicts_a_finding(text: str, many: list[dict[str, Any]]) -> None:
    expression = parse(text, CATALOG)
    analysis = analyse(expression, budget=3000)
    whole = [f for f in analysis.findings if f.conditions == (expression.text,)]
    for visit in many:
        truth = expression.evaluate(visit)
        for finding in whole:
            assert finding.kind is not FindingKind.NEVER or truth is not True
            assert finding.kind is not FindingKind.ALWAYS or truth is True


@slow
@given(texts(max_leaves=2), texts(max_leaves=2), st.lists(visits(), min_size=5, max_size=5))
def test_no_visit_passes_a_path_that_conflicts(
    campaign: str, edge: str, many: list[dict[str, Any]]
) -> None:
    first, second = parse(campaign, CATALOG), parse(edge, CATALOG)
    if analyse_path(first, [("e", second)], budget=3000).findings:
        assert not any(
            first.evaluate(visit) is True and second.evaluate(visit) is True for visit in many
        )


@pytest.mark.parametrize(
    ("text", "kind", "paths"),
    [
        ("flag and age > 30 and (age < 20 and flag)", "never", ("and.1", "and.2")),
        ("flag or (age > 30 and age < 20)", "never", ("or.1.and.0", "or.1.and.1")),
        ("flag and (age is present or age is missing)", "always", ("and.1",)),
        ("flag and age > 1 and not not flag", "subsumed", ("and.2",)),
        ("flag # again\nand age > 1 and flag", "repeated", ("and.0", "and.2")),
        ("age > 30 and flag and age > 20", "subsumed", ("and.2",)),
    ],
)
def test_findings_name_the_places_of_their_conditions(
    text: str, kind: str, paths: tuple[str, ...]
) -> None:
    found = {finding.kind: finding.paths for finding in analyse(parse(text, CATALOG)).findings}
    assert found[FindingKind(kind)] == paths


def test_what_an_audience_says_stands_where_it_is_named() -> None:
    adults = parse("flag and age >= 18", CATALOG)
    text = "price > 1 and (age < 10 and @adults)"
    expression = parse(text, CATALOG, definitions={"adults": adults})
    (never,) = (f for f in analyse(expression).findings if f.kind is FindingKind.NEVER)
    assert never.paths == ("and.1", "and.2")
