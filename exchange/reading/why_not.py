"""Finds why a booking does not serve, or serves so little: the verdict, what it rests on, and the
change that did it. Now, on the newest night's sample, or on one night, by what that night counted.

A change did it if, with the version before, more visits would be eligible, all else being as now.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

from django.db.models import Q, Sum
from django.utils import timezone

from exchange.accounts.models import User
from exchange.findings.checking import Found, find_contradiction
from exchange.market.models import Booking, Campaign, Edge
from exchange.reading.drafted_market import DraftedMarket, Way, as_it_was
from exchange.reading.falls import WEEK
from exchange.reading.losses import Losses
from exchange.reading.paths import explain_no_path
from exchange.reading.sampled_market import SampledMarket
from exchange.reading.time_line import Mark, TimeLine, read_time_line
from exchange.reports.funnels import NightFunnel, list_nights, read_funnel
from exchange.reports.models import EligibleVisits
from exchange.reports.queries import last_reported_days
from exchange.reports.sample_counting import counter_of
from exchange.reports.sample_table import open_sample

MOST_REPLAYED = 12  # changes, the newest
LEAST_SHARE = 0.05  # of visits that a change must have cost to be named


@dataclass(frozen=True, slots=True)
class Cause:
    """The change that cost most: with the version before, `would_be` visits a day were eligible."""

    mark: Mark
    would_be: float


class WhyNot:
    """All that is known about one booking, read when it is asked for. The booking comes with its
    campaign, advertiser and publisher. `day` is a counted night; None: now."""

    def __init__(self, booking: Booking, person: User, day: date | None = None) -> None:
        self.booking = booking
        self.person = person
        self.day = day

    @cached_property
    def sampled(self) -> SampledMarket | None:
        """Opens the saved market on the sample; gives None if no night was counted yet."""
        sample = open_sample()
        return None if sample is None else SampledMarket(counter_of(sample))

    @cached_property
    def market(self) -> DraftedMarket:
        return self.sampled or DraftedMarket()

    @cached_property
    def way(self) -> Way:
        return self.market.find_ways([self.booking])[0]

    @cached_property
    def losses(self) -> Losses | None:
        """Counts where visits are lost; gives None if nothing was counted yet, or there is no
        path."""
        if self.sampled is None or not self.way.edge_ids:
            return None
        return Losses(self.sampled, self.way, self.person)

    @cached_property
    def edges(self) -> list[Edge]:
        """Lists all edges that the booking's visits may take."""
        return [self.market.edge(pk) for pk in self.way.edge_ids]

    @cached_property
    def night(self) -> NightFunnel | None:
        return read_funnel(self.day, self.booking.pk) if self.day else None

    @cached_property
    def nights(self) -> list[date]:
        return list_nights()

    @cached_property
    def time_line(self) -> TimeLine:
        counted = last_reported_days()
        last = counted[1] if counted else timezone.now().date()
        return read_time_line(self.booking, self.edges, last, self.person)

    # --- what stands in the way, whatever visits there are

    @cached_property
    def stopped(self) -> str:
        """Says why the campaign or the booking itself is not meant to serve; empty if it is."""
        campaign, now = self.booking.campaign, timezone.now()
        if campaign.is_retired or self.booking.is_retired:
            return "it is retired"
        if campaign.status != Campaign.Status.LIVE:
            return f"the campaign is {'a draft' if campaign.is_draft else 'paused'}"
        if campaign.ends_at and campaign.ends_at <= now:
            return f"the campaign ended on {campaign.ends_at:%Y-%m-%d at %H:%M} UTC"
        if campaign.starts_at > now:
            return f"the campaign starts on {campaign.starts_at:%Y-%m-%d at %H:%M} UTC"
        return "" if self.booking.is_active else "the booking is switched off"

    @cached_property
    def no_path(self) -> str:
        return "" if self.way.edge_ids else explain_no_path(self.booking)

    @cached_property
    def contradiction(self) -> Found | None:
        market, way = self.market, self.way
        if way.is_any or not way.edge_ids:
            return None
        campaign = market.read_campaign(self.booking.campaign)
        rules = {pk: rule for pk in way.edge_ids if (rule := market.read_rule(pk)) is not None}
        return None if campaign is None else find_contradiction(campaign, rules)

    # --- the change that did it

    @cached_property
    def cause(self) -> Cause | None:
        if self.sampled is None:
            return None
        losses = self.losses
        now = losses.eligible if losses else 0.0
        if losses and losses.is_hidden:
            return None
        marks = self.time_line.marks[-MOST_REPLAYED:]
        found = [Cause(mark, replay(self.booking, mark, self.sampled)) for mark in marks]
        costly = [one for one in found if one.would_be - now > LEAST_SHARE * one.would_be]
        return max(costly, key=lambda one: (one.would_be, one.mark.at), default=None)


def find_worst_publisher(campaign: Campaign) -> int | None:
    """Finds where the campaign lost most against the same weekday a week before, by the last
    count."""
    days = last_reported_days()
    if days is None:
        return None
    last, before = days[1], days[1] - WEEK
    rows = EligibleVisits.objects.filter(campaign=campaign, day__in=(last, before)).order_by()
    summed = rows.values_list("publisher_id").annotate(
        lost=Sum("eligible_visits", filter=Q(day=before), default=0)
        - Sum("eligible_visits", filter=Q(day=last), default=0)
    )
    worst = summed.filter(lost__gt=0).order_by("-lost", "publisher_id").first()
    return worst[0] if worst else None


def replay(booking: Booking, mark: Mark, saved: SampledMarket) -> float:
    """Counts the visits a day if what changed were as before, and all else as now."""
    former = SampledMarket(saved.counter, as_it_was(mark.row, mark.earlier), saved)
    way = former.find_ways([booking])[0]
    return former.visits(former.eligible(way))
