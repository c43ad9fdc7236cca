"""Counts on the night's sample what a campaign would reach over a path: visits a day.

The same figures as the live impact: of the publisher's visits, those that the targeting wants and
every edge lets by. The flight is left aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Campaign, Edge, Party
from exchange.reading.impact import LEAST_PEOPLE, is_about_persons
from exchange.reading.sampled_market import Places, SampledMarket
from exchange.reports.sample_counting import counter_of
from exchange.reports.sample_table import Sample, open_sample
from targeting import Expression, ExpressionError


@dataclass(frozen=True, slots=True)
class Reach:
    """Visits a day on average: that the targeting `wanted` at the publisher, and of these what the
    path lets by. None: about so few people that it would be about persons."""

    wanted: float | None
    eligible: float | None

    @property
    def percent(self) -> float | None:
        """Gives the share of the wanted visits that the path lets by."""
        if self.wanted is None or self.eligible is None or not self.wanted:
            return None
        return 100 * self.eligible / self.wanted


class ReachCounter:
    """Counts for one campaign. Not thread-safe."""

    def __init__(self, sample: Sample, expression: Expression) -> None:
        self.sample = sample
        self._market = SampledMarket(counter_of(sample))
        self._matched = self._market.judge(expression).true
        self._is_about_persons = is_about_persons(expression)

    @classmethod
    def open(cls, campaign: Campaign) -> Self | None:
        """Opens the sample for a campaign, which comes with its advertiser; gives None if no night
        was counted yet, or if the targeting no longer compiles."""
        sample = open_sample()
        if sample is None:
            return None
        reader = ExpressionReader(load_catalog())
        try:
            read = reader.read(campaign.expression, campaign.advertiser.organisation_id)
        except ExpressionError:
            return None
        return cls(sample, read)

    def count(self, publisher: Party, edges: Sequence[Edge]) -> Reach:
        places = self._market.at(publisher)
        wanted = places[self._matched[places]]
        passed = self._market.along(wanted, edges) if edges else wanted[:0]
        return Reach(self._tell(wanted), self._tell(passed))

    def _tell(self, places: Places) -> float | None:
        if self._is_about_persons and self._market.people(places) < LEAST_PEOPLE:
            return None
        return self._market.visits(places)
