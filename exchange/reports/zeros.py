"""Finds campaigns that not one visit was eligible for, and which of several reasons each has.

A day is counted with one snapshot, which holds the market of one moment. What a campaign was then
is read from its revisions: one that is live now may not have existed when the days were counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import chain

from django.apps import apps
from django.db.models import Exists, OuterRef, Q, QuerySet

from exchange.market.models import Booking, Campaign
from exchange.market.visibility import explainable, visible
from exchange.reports.models import DaySnapshot, EligibleVisits, ReportRun
from exchange.reports.queries import Selection
from exchange.snapshots.models import SnapshotBuild

ZEROS_SHOWN = 25


class Zero(StrEnum):
    """Why a campaign has no eligible visit, from what explains most to what is worth a look."""

    NOT_COUNTED = "not_counted"
    NOT_YET = "not_yet"
    NOT_LIVE = "not_live"
    NOT_BOOKED = "not_booked"
    NONE_ELIGIBLE = "none_eligible"


WORDS = {
    Zero.NOT_COUNTED: "These days were not counted yet",
    Zero.NOT_YET: "Did not exist yet when these days were counted",
    Zero.NOT_LIVE: "Was not live on these days",
    Zero.NOT_BOOKED: "Is booked with no publisher",
    Zero.NONE_ELIGIBLE: "Not one visit was eligible",
}


@dataclass(frozen=True, slots=True)
class ZeroCampaign:
    """A campaign without eligible visits. It was live on `live_days` of the `counted_days`, in what
    they were counted with."""

    campaign: Campaign
    zero: Zero
    live_days: int
    counted_days: int

    @property
    def words(self) -> str:
        said = WORDS[self.zero]
        if self.zero == Zero.NONE_ELIGIBLE and self.live_days < self.counted_days:
            return f"{said}; it was live on {self.live_days} of {self.counted_days} counted days"
        return said


@dataclass(frozen=True, slots=True)
class Zeros:
    """A page of campaigns, the newest first; `older` is where the next page begins. `is_counted`:
    one of the days was."""

    campaigns: list[ZeroCampaign]
    older: int | None
    is_counted: bool


def find_zeros(selection: Selection, *, before: int | None = None) -> Zeros:
    """Walks back from the newest campaign until the page is full: never through all of them just to
    say how many there are."""
    rows = without_rows(selection).select_related("advertiser").order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: ZEROS_SHOWN + 1])
    shown = found[:ZEROS_SHOWN]
    older = shown[-1].pk if len(found) > ZEROS_SHOWN else None
    counted = read_counted_days(selection)
    return Zeros(explain_zeros(shown, counted), older, is_counted=bool(counted))


def without_rows(selection: Selection) -> QuerySet[Campaign]:
    campaigns = explainable(Campaign.objects.kept(), selection.viewer)
    if selection.text:
        campaigns = campaigns.search(selection.text)
    days = Q(day__range=(selection.first_day, selection.last_day))
    rows = visible(EligibleVisits.objects.order_by(), selection.viewer).filter(days)
    if selection.publisher is not None:
        rows = rows.filter(publisher=selection.publisher)
        booked = Booking.objects.kept().order_by().filter(publisher=selection.publisher)
        campaigns = campaigns.filter(Exists(booked.filter(campaign=OuterRef("pk"))))
    return campaigns.filter(~Exists(rows.filter(campaign=OuterRef("pk"))))


def explain_zero(campaign: Campaign, selection: Selection) -> ZeroCampaign:
    return explain_zeros([campaign], read_counted_days(selection))[0]


def explain_zeros(
    campaigns: Sequence[Campaign], counted: Sequence[CountedDay]
) -> list[ZeroCampaign]:
    """Explains campaigns in two queries, however many there are."""
    past = read_past(campaigns)
    bookings = Booking.objects.active().order_by().filter(campaign__in=campaigns)
    booked = set(bookings.values_list("campaign_id", flat=True))
    return [
        explain(campaign, counted, past[campaign.pk], is_booked=campaign.pk in booked)
        for campaign in campaigns
    ]


@dataclass(frozen=True, slots=True)
class CountedDay:
    """A day, and the moment whose market it was counted with."""

    day: date
    moment: datetime

    @property
    def begins(self) -> datetime:
        return datetime.combine(self.day, time.min, UTC)

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(days=1)


def read_counted_days(selection: Selection) -> list[CountedDay]:
    """Finds what each day was counted with: it belongs to the newest run that counted it. A run may
    have found no log for some of its days; asking the rows would take longer than all the rest."""
    first, last = selection.first_day, selection.last_day
    runs = ReportRun.objects.filter(status=ReportRun.Status.DONE)
    found = list(runs.filter(first_day__lte=last, last_day__gte=first).order_by("pk"))
    moments = read_moments(found)
    of_days = dict(
        DaySnapshot.objects.filter(day__range=(first, last), read_at__isnull=False).values_list(
            "day", "read_at"
        )
    )
    counted = {
        day: of_days.get(day) or moments[run.pk]
        for run in found
        for day in selection.days()
        if run.first_day <= day <= run.last_day
    }
    return [CountedDay(day, counted[day]) for day in sorted(counted)]


def read_moments(runs: Iterable[ReportRun]) -> dict[int, datetime]:
    """Finds when the market was read that a run counted with; its builds may be gone."""
    builds = SnapshotBuild.objects.filter(read_at__isnull=False).order_by()
    wanted = {run.snapshot_id for run in runs}
    read_at = dict(builds.filter(snapshot_id__in=wanted).values_list("snapshot_id", "read_at"))
    return {
        run.pk: read_at.get(run.snapshot_id) or run.started_at or run.requested_at for run in runs
    }


@dataclass(frozen=True, slots=True)
class State:
    """What decides whether a campaign is live, from a moment on."""

    since: datetime
    status: str
    starts_at: datetime
    ends_at: datetime | None

    def is_live_on(self, day: CountedDay) -> bool:
        is_over = self.ends_at is not None and self.ends_at <= day.begins
        is_to_come = self.starts_at >= day.ends
        return self.status == Campaign.Status.LIVE and not is_over and not is_to_come


def read_past(campaigns: Iterable[Campaign]) -> dict[int, list[State]]:
    """Reads states, oldest first. A campaign without revisions always was what it is."""
    events = apps.get_model("market", "CampaignEvent")._default_manager
    found = events.filter(pgh_obj_id__in=[campaign.pk for campaign in campaigns])
    past: dict[int, list[State]] = defaultdict(list)
    for pk, *state in found.order_by("pgh_id").values_list(
        "pgh_obj_id", "pgh_created_at", "status", "starts_at", "ends_at"
    ):
        past[pk].append(State(*state))
    for campaign in campaigns:
        if not past[campaign.pk]:
            now = (campaign.created_at, campaign.status, campaign.starts_at, campaign.ends_at)
            past[campaign.pk].append(State(*now))
    return past


def explain(
    campaign: Campaign, counted: Sequence[CountedDay], past: Sequence[State], *, is_booked: bool
) -> ZeroCampaign:
    found = Counter(chain([Zero.NOT_COUNTED], (judge(day, past) for day in counted)))
    zero = max(found, key=list(Zero).index)
    if zero == Zero.NONE_ELIGIBLE and not is_booked:
        zero = Zero.NOT_BOOKED
    return ZeroCampaign(campaign, zero, found[Zero.NONE_ELIGIBLE], len(counted))


def judge(day: CountedDay, past: Sequence[State]) -> Zero:
    """Judges one day by what the campaign was in the market that the day was counted with."""
    known = [state for state in past if state.since <= day.moment]
    if not known:
        return Zero.NOT_YET
    return Zero.NONE_ELIGIBLE if known[-1].is_live_on(day) else Zero.NOT_LIVE
