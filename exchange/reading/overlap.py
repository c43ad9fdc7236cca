"""Finds which of some campaigns are eligible for the same visits and users, and what each has
alone.

By the night's tables where it counted them, else by the sample. The tables keep pairs of 20 visits
or more, the 50 largest of each campaign at a publisher: others are not known. Users of several
publishers do not add up, so they are told for one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import combinations

import numpy as np

from exchange.accounts.models import User
from exchange.accounts.ownership import owns
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Campaign, Party
from exchange.market.visibility import owned
from exchange.reading.impact import Gate
from exchange.reports.night.asking import Best, Question, Row, list_columns, read_rows
from exchange.reports.night.campaign_reports import ALONE, PARTNERS
from exchange.reports.night.tables import Night, find_night
from exchange.reports.sample_counting import Counter, Rows, counter_of
from exchange.reports.sample_table import open_sample
from exchange.reports.small_counts import least_told, tell_shared, tell_users
from targeting import ExpressionError

MOST_CAMPAIGNS = 10
MOST_ON_SAMPLE = 6
FIRST_LOOKED_AT = 60  # rows, among which the largest campaigns are found

PairKey = tuple[int, int]


@dataclass(slots=True)
class Alone:
    """Of one campaign; `exclusive` are visits that no other campaign was eligible for."""

    visits: float = 0
    exclusive: float | None = None
    users: float | None = None

    @property
    def percent(self) -> float | None:
        known = self.exclusive is not None and self.visits
        return 100 * (self.exclusive or 0) / self.visits if known else None


@dataclass(slots=True)
class Shared:
    visits: float = 0
    users: float | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """`day` is the night's, or None: then it is of the sample from `first_day` on, a day on
    average. `least` is how many users are told."""

    campaigns: list[Campaign]
    alone: dict[int, Alone]
    shared: dict[PairKey, Shared]
    least: int
    publisher: Party | None = None
    day: date | None = None
    first_day: date | None = None
    last_day: date | None = None
    left_out: list[Campaign] = field(default_factory=list)

    def of(self, one: int, other: int) -> Shared | None:
        return self.shared.get((min(one, other), max(one, other)))

    def percent(self, one: int, other: int) -> float | None:
        """Gives the share of the first campaign's visits that the other one has too."""
        both, alone = self.of(one, other), self.alone.get(one)
        if both is None or alone is None or not alone.visits:
            return None
        return min(100.0, 100 * both.visits / alone.visits)

    def tell_users(self, one: int, other: int) -> str:
        both = self.of(one, other)
        wholes = [self.alone[each].users for each in (one, other) if each in self.alone]
        return tell_shared(both.users if both else None, wholes, self.least)

    def tell_own_users(self, one: int) -> str:
        return tell_users(self.alone[one].users if one in self.alone else None, self.least)


def find_largest(person: User, publisher: Party | None, day: date | None) -> list[int]:
    """Finds the campaigns to begin with: those with most visits at a publisher."""
    question = Question(ALONE, person, day, publisher=publisher.seller_id if publisher else "")
    night = find_night(ALONE.job, day)
    if night is None:
        return []
    best = Best(ALONE.sort, list_columns(person, ALONE, night), FIRST_LOOKED_AT)
    for batch in read_rows(question, night):
        best.add(batch)
    found = dict.fromkeys(row["campaign_id"] for row in best.rows())
    return list(found)[:MOST_ON_SAMPLE]


def read_overlap(
    person: User, campaigns: Sequence[Campaign], publisher: Party | None, day: date | None
) -> Overlap | None:
    """Reads a night's overlap, or counts it on the sample; gives None if there is neither."""
    night = find_night(ALONE.job, day)
    if night is not None:
        return read_night_overlap(person, campaigns, publisher, night)
    return None if day is not None else measure_overlap(person, campaigns, publisher)


def read_night_overlap(
    person: User, campaigns: Sequence[Campaign], publisher: Party | None, night: Night
) -> Overlap:
    ids = {each.pk for each in campaigns}
    place = publisher.seller_id if publisher else ""
    meant = Question(ALONE, person, campaigns=tuple(ids), publisher=place)
    alone: dict[int, Alone] = defaultdict(Alone)
    for row in rows_of(meant, night):
        add_alone(alone[row["campaign_id"]], row, has_users=publisher is not None)
    shared: dict[PairKey, dict[str, Shared]] = defaultdict(dict)
    for row in rows_of(replace(meant, report=PARTNERS), night):
        one, other = row["campaign_id"], row["partner_id"]
        if other in ids:
            key = (min(one, other), max(one, other))
            shared[key][row["publisher"]] = Shared(row["visits_both"], row["users_both"])
    return Overlap(
        list(campaigns),
        dict(alone),
        {key: sum_shared(found.values(), publisher is not None) for key, found in shared.items()},
        least_told(person),
        publisher,
        night.day,
    )


def rows_of(question: Question, night: Night) -> Iterable[Row]:
    for batch in read_rows(question, night, covers=False):
        yield from batch.to_pylist()


def add_alone(alone: Alone, row: Row, *, has_users: bool) -> None:
    alone.visits += row["visits"]
    alone.exclusive = (alone.exclusive or 0) + row["exclusive_visits"]
    alone.users = row["users"] if has_users else None


def sum_shared(found: Iterable[Shared], has_users: bool) -> Shared:
    """Sums over publishers. Both sides of a pair have the same row at each of them."""
    rows = list(found)
    return Shared(sum(each.visits for each in rows), rows[0].users if has_users else None)


def measure_overlap(
    person: User, campaigns: Sequence[Campaign], publisher: Party | None
) -> Overlap | None:
    """Counts the overlap on the sample, with campaigns, bookings and paths as they are now."""
    sample = open_sample()
    if sample is None:
        return None
    counter = counter_of(sample)
    reached = Reached(counter, person, publisher)
    found = {each.pk: reached.rows(each) for each in campaigns[:MOST_ON_SAMPLE]}
    rows = {pk: each for pk, each in found.items() if each is not None}
    alone = {pk: count_alone(counter, each) for pk, each in rows.items()}
    shared = {}
    for one, other in combinations(sorted(rows), 2):
        count = counter.count(rows[one] & rows[other])
        shared[one, other] = Shared(count.visits, count.users)
    return Overlap(
        [each for each in campaigns if each.pk in rows],
        alone,
        shared,
        least_told(person),
        publisher,
        first_day=sample.first_day,
        last_day=sample.last_day,
        left_out=[each for each in campaigns if each.pk not in rows],
    )


def count_alone(counter: Counter, rows: Rows) -> Alone:
    """Counts a campaign's own visits. Whom nobody else reaches stays unknown: the sample would have
    to be asked about all campaigns."""
    count = counter.count(rows)
    return Alone(count.visits, None, count.users)


class Reached:
    """Which rows of the sample campaigns are eligible for, as far as the person may know: of
    campaigns of others, at the person's own publishers."""

    def __init__(self, counter: Counter, person: User, publisher: Party | None) -> None:
        self._counter = counter
        self._person = person
        self._reader = ExpressionReader(load_catalog())
        own = owned(Party.objects.publishers().order_by(), person)
        self._own = set(own.values_list("seller_id", flat=True))
        self._at = None if publisher is None else {publisher.seller_id}

    def rows(self, campaign: Campaign) -> Rows | None:
        """Finds the rows that a campaign reaches; gives None if its expression no longer
        compiles."""
        try:
            expression = self._reader.read(campaign.expression, campaign.advertiser.organisation_id)
        except ExpressionError:
            return None
        rows = self._counter.of(expression) & Gate(self._counter, campaign).open
        if self._at is not None:
            rows = rows & self._among(self._at)
        return rows if owns(self._person, campaign) else rows & self._among(self._own)

    def _among(self, seller_ids: set[str]) -> Rows:
        sample = self._counter.sample
        places = [n for n, name in enumerate(sample.publisher_ids) if name in seller_ids]
        return np.isin(sample.publishers, places)
