"""Rehearses what saving a draft would do to bookings, counted on the newest night's sample before
it is saved: visits a day before and after, bookings that stop, rules that begin to contradict.

Only bookings that the person may see are told, and summed up: how others' visits react to a rule
would tell what others target. Sums count each visit once, however many bookings may take it.
"""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from exchange.accounts.models import User
from exchange.findings.checking import Found, find_contradiction
from exchange.market.models import Audience, Booking, Edge
from exchange.reading.concerned import Concerned, find_concerned
from exchange.reading.drafted_market import NEW_EDGE, Draft, Way
from exchange.reading.impact import LEAST_PEOPLE, is_about_persons
from exchange.reading.sampled_market import Places, SampledMarket
from exchange.reports.sample_counting import counter_of
from exchange.reports.sample_table import Sample, open_sample
from targeting import Expression

MOST_ANALYSED = 60  # paths that are searched for a contradiction: 10 ms each at most
BUDGET = 4_000


class Outcome(StrEnum):
    """What becomes of a booking, the worst first."""

    STOPS = "stops"
    HALVES = "halves"
    LOSES = "loses"
    GAINS = "gains"
    STAYS = "stays"
    HAD_NONE = "none"


@dataclass(frozen=True, slots=True)
class Fate:
    """`before` and `after` are visits a day; None where so few people would be left that it would
    be about persons, which counts as none. `reason` says why nothing can pass any more, where
    that is proven."""

    booking: Booking
    outcome: Outcome
    before: float
    after: float | None
    reason: str = ""

    @property
    def change_percent(self) -> float | None:
        if not self.before or self.after is None:
            return None
        return 100 * (self.after / self.before - 1)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`fates` in the order of what is lost. `before` and `after`: distinct visits a day that any of
    the bookings could take. Without a `sample`, nothing was counted."""

    sample: Sample | None = None
    concerned: Concerned = field(default_factory=Concerned)
    fates: tuple[Fate, ...] = ()
    before: float = 0.0
    after: float = 0.0

    @property
    def counts(self) -> dict[str, int]:
        """Counts the bookings of each outcome; every outcome is there, in order."""
        tally = Tally(fate.outcome for fate in self.fates)
        return {outcome.value: tally[outcome] for outcome in Outcome}

    @property
    def stopped(self) -> list[Fate]:
        return [fate for fate in self.fates if fate.outcome is Outcome.STOPS]

    @property
    def contradicting(self) -> int:
        return sum(bool(fate.reason) for fate in self.fates)

    @property
    def advertisers_stopped(self) -> int:
        return len({fate.booking.campaign.advertiser_id for fate in self.stopped})

    @property
    def changes_nothing(self) -> bool:
        quiet = (Outcome.STAYS, Outcome.HAD_NONE)
        return all(fate.outcome in quiet and not fate.reason for fate in self.fates)


def rehearse(draft: Draft, person: User) -> Rehearsal:
    sample = open_sample()
    if sample is None:
        return Rehearsal()
    saved = SampledMarket(counter_of(sample))
    drafted = SampledMarket(saved.counter, draft, saved)
    concerned = find_concerned(draft, person, [saved.graph, drafted.graph])
    bookings = sorted(concerned.bookings, key=by_advertiser)
    found = Rehearsed(saved, drafted, bookings)
    return Rehearsal(
        sample,
        concerned,
        tuple(sorted(found.fates, key=by_loss)),
        saved.visits(np.flatnonzero(found.union_before)),
        drafted.visits(np.flatnonzero(found.union_after)),
    )


def by_advertiser(booking: Booking) -> tuple[int, int, int]:
    """Brings those together who ask for the same visits and take the same paths."""
    return booking.campaign.advertiser_id, booking.campaign_id, booking.publisher_id


def by_loss(fate: Fate) -> tuple[int, float, int]:
    order = list(Outcome).index(fate.outcome)
    return order, -abs(fate.before - (fate.after or 0)), fate.booking.pk


class Rehearsed:
    """Counts bookings one by one."""

    def __init__(
        self, saved: SampledMarket, drafted: SampledMarket, bookings: list[Booking]
    ) -> None:
        self._saved, self._drafted = saved, drafted
        self._hides_few = is_about_few(drafted)
        self._analysed = 0
        self.union_before, self.union_after = (
            np.zeros(len(saved.sample), dtype=bool) for _ in range(2)
        )
        pairs = zip(saved.find_ways(bookings), drafted.find_ways(bookings), strict=True)
        self.fates = [self._judge(before, after) for before, after in pairs]

    def _judge(self, before: Way, after: Way) -> Fate:
        was, will = self._saved.eligible(before), self._drafted.eligible(after)
        self.union_before[was] = True
        self.union_after[will] = True
        reason = "" if len(will) else self._explain(before, after, had_visits=bool(len(was)))
        visits = self._saved.visits(was), self._count_drafted(will)
        outcome = choose_outcome(visits[0], visits[1] or 0)
        return Fate(before.booking, outcome, *visits, reason)

    def _count_drafted(self, places: Places) -> float | None:
        """Counts visits under the draft; gives None for few people where the draft is about
        persons, so that none and a few are the same."""
        if self._hides_few and self._drafted.people(places) < LEAST_PEOPLE:
            return None
        return self._drafted.visits(places)

    def _explain(self, before: Way, after: Way, *, had_visits: bool) -> str:
        """Says why nothing can pass any more; empty where that was so before, or is not proven."""
        if not after.edge_ids:
            return "no path is left" if before.edge_ids else ""
        if self._analysed >= MOST_ANALYSED:
            return ""
        self._analysed += 1
        found = self._contradict(self._drafted, after)
        if found is None or (not had_visits and self._contradict(self._saved, before)):
            return ""
        named = " and ".join(str(self._drafted.edge(pk)) for pk in found.edge_ids)
        return f"{named} excludes every visit that it wants" if named else "it contradicts itself"

    def _contradict(self, market: SampledMarket, way: Way) -> Found | None:
        """Finds a contradiction on a booking's path. Nothing is said of a booking on any path: all
        of its paths would have to be excluded."""
        if way.is_any or not way.edge_ids:
            return None
        campaign = market.read_campaign(market.campaign_of(way.booking))
        rules = {pk: rule for pk in way.edge_ids if (rule := market.read_rule(pk)) is not None}
        return None if campaign is None else find_contradiction(campaign, rules, budget=BUDGET)


def choose_outcome(before: float, after: float) -> Outcome:
    if not before:
        return Outcome.GAINS if after else Outcome.HAD_NONE
    if not after:
        return Outcome.STOPS
    if after == before:
        return Outcome.STAYS
    if after > before:
        return Outcome.GAINS
    return Outcome.HALVES if after < before / 2 else Outcome.LOSES


def is_about_few(drafted: SampledMarket) -> bool:
    """Tells whether what is drafted asks about persons: then counts of few people are not told, or
    a text that is tried again and again would tell about one."""
    row = drafted.draft.row if drafted.draft else None
    read: Expression | None = None
    if isinstance(row, Edge):
        read = drafted.read_rule(row.pk or NEW_EDGE)
    elif isinstance(row, Audience):
        read = drafted.read_text(row.expression, row.organisation_id)
    return read is not None and is_about_persons(read)
