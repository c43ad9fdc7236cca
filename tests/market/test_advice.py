"""What is told about a valid expression while one types it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.market.advice import Advice, Hint, advise
from exchange.market.countries import BY_NAME, KNOWN, find_country
from exchange.market.expressions import check_expression
from exchange.market.traffic import UNKNOWN, sample_traffic
from targeting import Catalog
from tests.market.logs import write_log

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def log(tmp_path: Path, settings: Settings) -> Path:
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    return tmp_path / "visits"


@pytest.fixture
def traffic(log: Path) -> None:
    """Writes 100 visits: 62 say their site's categories; all are from Germany or France."""
    cities = ["Berlin", "Paris"]
    write_log(
        log,
        [
            {
                "geo.country": ["DEU", "FRA"][number % 2],
                "geo.city": cities[number % 2],
                "site.cat": ["sports"] if number < 62 else None,
                "device.os": "ios",
                "user.age": 30 if number == 0 else None,
            }
            for number in range(100)
        ],
    )


def advice_on(text: str) -> Advice:
    return advise(check_expression(text=text), text)


def hints(text: str) -> dict[str, list[Hint]]:
    found: dict[str, list[Hint]] = {}
    for hint in advice_on(text).hints:
        found.setdefault(hint.kind, []).append(hint)
    return found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("user.age > 30 and user.age < 20", "never"),
        ("user.age > 30 or user.age <= 30 or user.age is missing", "always"),
        ("user.consent and user.consent", "repeated"),
        ("user.age > 30 and user.age > 20", "subsumed"),
    ],
)
def test_tells_what_is_suspicious(text: str, kind: str) -> None:
    assert kind in hints(text)


def test_a_plain_expression_is_only_said_in_words() -> None:
    advice = advice_on("geo.country in ('DEU', 'FRA') and user.age >= 18")
    assert advice == Advice("Visits from DEU or FRA, where user age is at least 18", ())


@pytest.mark.parametrize(
    ("written", "code"),
    [("DE", "DEU"), ("UK", "GBR"), ("Germany", "DEU"), ("usa", "USA"), ("united states", "USA")],
)
def test_countries_by_another_name_are_told_with_the_right_one_and_their_place(
    written: str, code: str
) -> None:
    text = (
        f"user.consent # 'DE'\nand geo.city = '{written}'\nand geo.country in ('FRA', '{written}')"
    )
    (hint,) = hints(text)["alias"]
    assert hint.suggestion == f"write `'{code}'`"
    assert hint.place is not None
    assert (hint.place.line, hint.place.column) == (3, 28)
    assert hint.place.length == len(written) + 2


def test_every_country_has_three_letters() -> None:
    assert set(BY_NAME.values()) <= KNOWN
    assert find_country("DEU") is None
    assert find_country("Atlantis") is None


@pytest.mark.usefixtures("traffic")
def test_values_that_no_visit_has_are_told_with_what_was_meant() -> None:
    berlin, ios = hints("geo.city = 'Berln' and device.os = 'iOS'")["unseen"]
    assert berlin.message == (
        "no visit has `'Berln'` in `geo.city` (100 sampled visits of 2026-11-16)"
    )
    assert (berlin.suggestion, ios.suggestion) == (
        "did you mean `'Berlin'`?",
        "did you mean `'ios'`?",
    )
    assert "unseen" not in hints("geo.city != 'Berln' and geo.city = 'Berlin'")


@pytest.mark.usefixtures("traffic")
@pytest.mark.parametrize(
    "text",
    [
        "site.cat none of ('finance')",
        "not (site.cat one of ('finance'))",
        "geo.country = 'DEU' and not (site.cat one of ('finance') or user.consent)",
    ],
)
def test_a_negative_condition_says_whom_it_excludes(text: str) -> None:
    told = {hint.message for hint in hints(text)["missing"]}
    assert "38 % of visits do not say `site.cat` and are excluded" in told


@pytest.mark.usefixtures("traffic")
def test_nobody_is_excluded_whose_absence_is_looked_after() -> None:
    assert "missing" not in hints("site.cat none of ('finance') or site.cat is missing")
    assert "missing" not in hints("geo.country != 'FRA'")
    assert "missing" not in hints("site.cat one of ('sports')")


@pytest.mark.usefixtures("traffic")
@pytest.mark.parametrize(
    "text",
    [
        "geo.country = 'FRA' and site.cat none of ('finance')",
        "geo.country = 'FRA' and not site.cat one of ('finance')",
        "not (geo.country = 'DEU' or site.cat one of ('finance'))",
        "not (geo.country = 'DEU' or not site.cat none of ('finance'))",
    ],
)
def test_what_includes_the_excluded_does_so_in_their_place(text: str) -> None:
    (hint,) = hints(text)["missing"]
    _, suggested, _ = hint.suggestion.split("`")
    (condition,) = re.findall(r"site.cat (?:one|none) of \('finance'\)", text)
    included = text.replace(condition, suggested)
    for visit, before, after in (
        ({"geo.country": "FRA"}, None, True),
        ({"geo.country": "FRA", "site.cat": ["sports"]}, True, True),
        ({"geo.country": "FRA", "site.cat": ["finance"]}, False, False),
        ({"geo.country": "DEU"}, False, False),
    ):
        truths = [check_expression(text=said).explain(visit).truth for said in (text, included)]
        assert truths == [before, after]


def test_without_a_log_the_excluded_are_told_without_their_share() -> None:
    (hint,) = hints("local_time during '08:00-09:00' and site.cat none of ('finance')")["missing"]
    assert hint.message == "visits that do not say `site.cat` are excluded"
    assert hint.suggestion == (
        "`(site.cat none of ('finance') or site.cat is missing)` includes them"
    )
    (local,) = hints("not local_time during '08:00-09:00'")["missing"]
    assert "`geo.utc_offset`" in local.message


@pytest.mark.usefixtures("traffic")
def test_attributes_that_few_visits_say_are_told() -> None:
    (hint,) = hints("user.age > 20")["rare"]
    assert hint.message.startswith("only 1.0% of visits carry `user.age`")


def test_what_cannot_be_read_is_no_traffic(log: Path) -> None:
    catalog = Catalog.of(age="integer")
    assert sample_traffic(catalog) is UNKNOWN
    write_log(log, [{"age": 3}])
    assert sample_traffic(catalog).visits == 1
    (log / "dt=2026-11-17").mkdir()
    (log / "dt=2026-11-17" / "part-0.parquet").write_bytes(b"broken")
    assert sample_traffic(catalog) is UNKNOWN


@pytest.mark.usefixtures("traffic")
def test_many_strange_values_of_a_condition_are_one_hint() -> None:
    text = "user.consent and geo.city in ('Berln', 'Berlin', 'Gotham')"
    (hint,) = hints(text)["unseen"]
    assert hint.message == (
        "2 of 3 values of `geo.city` were never seen (100 sampled visits of 2026-11-16)"
    )
    assert hint.paths == ("and.1",)
    assert [(each.value, each.replacement) for each in hint.values] == [
        ("Berln", "Berlin"),
        ("Gotham", None),
    ]
    spans = [each.span for each in hint.values]
    assert [text[span[0] : span[1]] for span in spans if span] == ["'Berln'", "'Gotham'"]


@pytest.mark.usefixtures("traffic")
def test_hints_have_the_paths_of_their_conditions() -> None:
    text = "user.age > 20 and not (site.cat one of ('sports') or site.cat one of ('x'))"
    (rare,), (missing,) = hints(text)["rare"], hints(text)["missing"]
    assert rare.paths == ("and.0",)
    assert missing.paths == ("and.1.not.or.0", "and.1.not.or.1")
    assert missing.place is not None
    assert text[missing.place.column - 1 :].startswith("site.cat one of ('sports')")
