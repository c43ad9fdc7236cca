"""Saved test visits: kept per campaign, run with the plain evaluator on every save of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from exchange.accounts.models import User
from exchange.market.expressions import check_expression
from exchange.market.models import Campaign, TestVisit
from exchange.market.services.saving import keep, lock_before, retire
from exchange.market.visibility import require_change
from exchange.serving.eligibility import PUBLISHER, STAMPED_TIMES
from exchange.serving.problems import ProblemError
from exchange.serving.visits import flatten
from targeting import Expression

SOME_PUBLISHER = "a-publisher"
MAX_VISITS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """`is_eligible` is about the campaign's expression alone: no path, no flight."""

    test_visit: TestVisit
    is_eligible: bool

    @property
    def is_as_expected(self) -> bool:
        return self.is_eligible == self.test_visit.expects_eligible

    def __str__(self) -> str:
        said = "is eligible" if self.is_eligible else "is not eligible"
        wanted = "eligible" if self.test_visit.expects_eligible else "not eligible"
        return f"“{self.test_visit.name}” {said}, but should be {wanted}"


class FailingVisitsError(ValidationError):
    """Saving would go against saved test visits; save again with `confirmed` to do it anyway."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = tuple(outcomes)
        super().__init__([str(outcome) + "." for outcome in self.outcomes], code="failing_visits")


@transaction.atomic
def save_test_visit(
    *, test_visit: TestVisit, by: User, expected_version: int | None = None
) -> TestVisit:
    """It may fail when it is saved: that is how a wrong campaign is shown to be wrong."""
    require_change(by, test_visit)
    before = lock_before(test_visit, expected_version)
    test_visit.full_clean()
    check_visit(test_visit.visit)
    if before is None and test_visit.campaign.test_visits.kept().count() >= MAX_VISITS:
        raise ValidationError(f"A campaign has at most {MAX_VISITS} test visits.")
    return keep(test_visit, by)


@transaction.atomic
def retire_test_visit(
    *, test_visit: TestVisit, by: User, expected_version: int | None = None
) -> TestVisit:
    require_change(by, test_visit)
    lock_before(test_visit, expected_version)
    return retire(test_visit, by)


def check_visit(visit: object) -> None:
    if not isinstance(visit, dict):
        raise ValidationError({"visit": "A visit is a JSON object."})
    try:
        flatten(visit, ())
    except ProblemError as problem:
        raise ValidationError({"visit": str(problem)}) from problem


def run_test_visits(*, campaign: Campaign, expression: Expression | None = None) -> list[Outcome]:
    """All of them, in the order of their names."""
    visits = list(campaign.test_visits.kept().order_by("name"))
    if not visits:
        return []
    if expression is None:
        organisation_id = campaign.advertiser.organisation_id
        expression = check_expression(text=campaign.expression, organisation_id=organisation_id)
    known = {attribute.name for attribute in expression.catalog}
    return [run_visit(test_visit, expression, known) for test_visit in visits]


def run_visit(test_visit: TestVisit, expression: Expression, known: set[str]) -> Outcome:
    """The exchange itself says of every visit where and when; a test visit may say it instead, and
    one that shall mean the same tomorrow says its time."""
    flat = flatten(test_visit.visit, known)
    flat.setdefault(PUBLISHER, SOME_PUBLISHER)
    for name in STAMPED_TIMES:
        flat.setdefault(name, int(datetime.now(UTC).timestamp() * 1000))
    return Outcome(test_visit, expression.evaluate(flat) is True)


def refuse_failing_visits(campaign: Campaign, expression: Expression) -> None:
    outcomes = run_test_visits(campaign=campaign, expression=expression)
    failing = [outcome for outcome in outcomes if not outcome.is_as_expected]
    if failing:
        raise FailingVisitsError(failing)
