"""Saves test visits of a campaign, and runs them with the plain evaluator: when the campaign goes
live or changes while it is, and on every save of an audience or a list that it uses. Each has its
time, so that it means the same tomorrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader, check_expression
from exchange.market.given_visits import read_given, write_time
from exchange.market.impact import MAX_REHEARSED, reach
from exchange.market.models import Campaign, TestVisit
from exchange.market.names import Names, load_names
from exchange.market.services.holding import refuse_retired
from exchange.market.services.saving import lock_before, one_save, retire, save_row
from exchange.serving.problems import ProblemError
from exchange.serving.visits import PUBLISHER, stamp
from targeting import Catalog, Expression, ExpressionError

SOME_PUBLISHER = "a-publisher"
MAX_VISITS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test visit showed: `is_eligible` by the expression alone, without path and flight."""

    test_visit: TestVisit
    is_eligible: bool
    at: datetime

    @property
    def is_as_expected(self) -> bool:
        return self.is_eligible == self.test_visit.expects_eligible

    def __str__(self) -> str:
        said = "is eligible" if self.is_eligible else "is not eligible"
        wanted = "eligible" if self.test_visit.expects_eligible else "not eligible"
        return f"“{self.test_visit.name}” {said}, but should be {wanted}"


class FailingVisitsError(ValidationError):
    """Refuses a save that goes against saved test visits, unless it is sent again with
    `confirmed`."""

    def __init__(self, outcomes: Iterable[Outcome], run_count: int) -> None:
        self.outcomes = tuple(outcomes)
        self.run_count = run_count
        super().__init__([str(outcome) + "." for outcome in self.outcomes], code="failing_visits")


@one_save()
def save_test_visit(
    *, test_visit: TestVisit, by: User, expected_version: int | None = None
) -> TestVisit:
    """Saves a test visit, also one that fails: it shows that a campaign is wrong."""
    require_change(by, test_visit)
    hold_campaign(test_visit)
    before = lock_before(test_visit, expected_version)
    test_visit.full_clean()
    refuse_retired(test_visit, before, "campaign")
    test_visit.visit = settle_visit(test_visit.visit)
    if before is None and test_visit.campaign.test_visits.kept().count() >= MAX_VISITS:
        raise ValidationError(f"A campaign has at most {MAX_VISITS} test visits.")
    return save_row(test_visit, by)


def hold_campaign(test_visit: TestVisit) -> None:
    """Holds the campaign for this save alone: two at once would count the same number of test
    visits."""
    campaigns = Campaign.objects.select_for_update(no_key=True)
    campaign = campaigns.filter(pk=test_visit.campaign_id).first()
    if campaign is not None:
        test_visit.campaign = campaign


@one_save()
def retire_test_visit(
    *, test_visit: TestVisit, by: User, expected_version: int | None = None
) -> TestVisit:
    require_change(by, test_visit)
    lock_before(test_visit, expected_version)
    return retire(test_visit, by)


def settle_visit(document: object) -> dict[str, Any]:
    """Makes the visit to keep: that of a bid request's one imp, and with the time of now where it
    says none, because a visit that followed the clock would pass by day and fail by night."""
    if not isinstance(document, dict):
        raise ValidationError({"visit": "A visit is a JSON object."})
    try:
        given = read_given(document, load_catalog())
    except ProblemError as problem:
        raise ValidationError({"visit": problem.detail}) from problem
    if len(given) > 1:
        named = ", ".join(str(each.imp_id) for each in given)
        message = f"This bid request has {len(given)} imps ({named}). Leave the one to be tested."
        raise ValidationError({"visit": message})
    visit = dict(document if given[0].imp_id is None else given[0].flat)
    if given[0].at is None:
        visit["time"] = write_time(datetime.now(UTC))
    return visit


def run_test_visits(*, campaign: Campaign, expression: Expression | None = None) -> list[Outcome]:
    """Runs all test visits of a campaign, in the order of their names."""
    visits = list(campaign.test_visits.kept().order_by("name"))
    if not visits:
        return []
    if expression is None:
        organisation_id = campaign.advertiser.organisation_id
        expression = check_expression(text=campaign.expression, organisation_id=organisation_id)
    return [run_visit(test_visit, expression) for test_visit in visits]


def run_visit(test_visit: TestVisit, expression: Expression) -> Outcome:
    """Runs the visit at the time that it says. One that was never saved by a service may say none:
    it is taken for as old as its row."""
    given = read_given(test_visit.visit, expression.catalog)[0]
    publisher = str(given.flat.get(PUBLISHER) or SOME_PUBLISHER)
    at = given.at or test_visit.created_at
    flat = dict(given.flat)
    stamp(flat, publisher, at)
    return Outcome(test_visit, expression.evaluate(flat) is True, at)


def refuse_failing_visits(campaign: Campaign, expression: Expression) -> None:
    outcomes = run_test_visits(campaign=campaign, expression=expression)
    failing = [outcome for outcome in outcomes if not outcome.is_as_expected]
    if failing:
        raise FailingVisitsError(failing, len(outcomes))


def refuse_new_failures(words: set[str], change: Callable[[Names, Catalog], Names]) -> None:
    """Runs the test visits of campaigns that use one of the words, with the names of today and with
    the changed ones. What failed before is not this change's fault."""
    visits = find_visits_using(words)
    if not visits:
        return
    catalog = load_catalog()
    owners = {visit.campaign.advertiser.organisation_id for visit in visits}
    today: dict[int | None, Names] = {owner: load_names(owner, catalog) for owner in owners}
    then = {owner: change(names, catalog) for owner, names in today.items()}
    passed = [outcome for outcome in run_with(visits, today, catalog) if outcome.is_as_expected]
    outcomes = run_with([outcome.test_visit for outcome in passed], then, catalog)
    failing = [outcome for outcome in outcomes if not outcome.is_as_expected]
    if failing:
        raise FailingVisitsError(failing, len(visits))


def find_visits_using(words: set[str]) -> list[TestVisit]:
    visits = TestVisit.objects.kept().select_related("campaign__advertiser")
    campaigns = Q(campaign__retired_at=None, campaign__uses__overlap=sorted(reach(words)))
    return list(visits.filter(campaigns).order_by("campaign_id", "name")[:MAX_REHEARSED])


def run_with(
    visits: Iterable[TestVisit], names: Mapping[int | None, Names], catalog: Catalog
) -> Iterator[Outcome]:
    """Runs test visits by campaign. Skips a campaign whose expression no longer compiles: it is
    quarantined."""
    reader = ExpressionReader(catalog, names.__getitem__)
    for campaign, own in groupby(visits, key=lambda visit: visit.campaign):
        try:
            expression = reader.read(campaign.expression, campaign.advertiser.organisation_id)
            yield from [run_visit(visit, expression) for visit in own]
        except ExpressionError:
            continue
