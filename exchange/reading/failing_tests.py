"""Runs test visits of live campaigns now, the newest ones, and finds those that fail."""

from __future__ import annotations

from itertools import groupby

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Campaign, TestVisit
from exchange.market.services.test_visits import Outcome, run_visit
from exchange.market.visibility import visible
from exchange.serving.problems import ProblemError
from targeting import ExpressionError

RUN_AT_ONCE = 50


def find_failing(person: User) -> list[Outcome]:
    """Finds test visits that fail. A campaign whose expression no longer compiles is asked nothing:
    that is told elsewhere."""
    visits = visible(TestVisit.objects.kept(), person).select_related("campaign__advertiser")
    live = visits.filter(campaign__status=Campaign.Status.LIVE, campaign__retired_at=None)
    newest = sorted(live.order_by("-pk")[:RUN_AT_ONCE], key=lambda visit: visit.campaign_id)
    if not newest:
        return []
    reader, outcomes = ExpressionReader(load_catalog()), []
    for campaign, own in groupby(newest, key=lambda visit: visit.campaign):
        try:
            expression = reader.read(campaign.expression, campaign.advertiser.organisation_id)
            outcomes += [run_visit(visit, expression) for visit in own]
        except (ExpressionError, ProblemError):
            continue
    return [outcome for outcome in outcomes if not outcome.is_as_expected]
