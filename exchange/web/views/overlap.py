"""Shows the overlap of campaigns: a matrix of those that the address names, and the same as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.market.models import Campaign, Party
from exchange.market.querysets import ID_DIGITS
from exchange.market.visibility import explainable
from exchange.reading.overlap import MOST_CAMPAIGNS, Overlap, find_largest, read_overlap
from exchange.reports.exports import UTF8_MARK, plain, write_lines
from exchange.reports.freshness import read_freshness
from exchange.reports.night.campaign_reports import ALONE
from exchange.reports.night.tables import list_nights
from exchange.web.filters import ListFilter
from exchange.web.forms.night_reports import offered_publishers
from exchange.web.forms.picking import CampaignPicker
from exchange.web.forms.reports import PlainSelect
from exchange.web.views.listing import person_of

HEATS = 5
CSV_HEAD = (
    "campaign_id",
    "campaign",
    "partner_id",
    "partner",
    "visits_both",
    "share",
    "users_both",
)


class OverlapForm(ListFilter):
    """`add` is one more campaign, by name; those that are shown are numbers in the address."""

    day = forms.ChoiceField(label="Night", required=False)
    publisher = forms.ModelChoiceField(
        Party.objects.none(),
        label="Publisher",
        required=False,
        empty_label="All publishers",
        widget=PlainSelect,
    )
    campaign = CampaignPicker(label="Add a campaign", required=False)

    def __init__(self, query: Any, *, viewer: User) -> None:
        self.numbers = [
            int(text) for text in query.getlist("c") if text.isdecimal() and len(text) <= ID_DIGITS
        ][:MOST_CAMPAIGNS]
        super().__init__(query)
        self.viewer = viewer
        days = [(str(day), str(day)) for day in list_nights(ALONE.job)]
        self.fields["day"].choices = [("", "The newest"), *days]  # type: ignore[attr-defined]
        self.fields["publisher"].queryset = offered_publishers(viewer)  # type: ignore[attr-defined]
        self.fields["campaign"].campaigns = explainable(  # type: ignore[attr-defined]
            Campaign.objects.select_related("advertiser"), viewer
        )

    @property
    def asked_day(self) -> date | None:
        return date.fromisoformat(self.chosen["day"]) if "day" in self.chosen else None

    def read(self) -> tuple[Overlap | None, bool]:
        """Reads the matrix, and whether its campaigns were chosen for the person."""
        added, publisher = self.chosen.get("campaign"), self.chosen.get("publisher")
        numbers = [*self.numbers, *([added.pk] if added else [])]
        is_ours = not numbers
        if is_ours:
            numbers = find_largest(self.viewer, publisher, self.asked_day)
        campaigns = explainable(Campaign.objects.select_related("advertiser"), self.viewer)
        found = campaigns.in_bulk(numbers)
        chosen = [found[pk] for pk in dict.fromkeys(numbers) if pk in found][:MOST_CAMPAIGNS]
        return read_overlap(self.viewer, chosen, publisher, self.asked_day), is_ours


@dataclass(frozen=True, slots=True)
class Cell:
    """`heat` is how dark it is; None: of a campaign with itself."""

    visits: float | None
    users: str
    percent: float | None
    heat: int | None
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    campaign: Campaign
    cells: list[Cell]
    visits: float
    exclusive: float | None
    exclusive_percent: float | None
    users: str

    @property
    def shared(self) -> float | None:
        return None if self.exclusive is None else self.visits - self.exclusive


@require_safe
def show_overlap(request: HttpRequest) -> HttpResponse:
    form = OverlapForm(request.GET, viewer=person_of(request))
    overlap, is_ours = form.read()
    context: dict[str, Any] = {"form": form, "freshness": read_freshness()}
    if overlap is not None:
        context |= {
            "overlap": overlap,
            "lines": [draw_line(overlap, campaign) for campaign in overlap.campaigns],
            "is_ours": is_ours,
            "has_users": overlap.publisher is not None or overlap.day is None,
            "most": MOST_CAMPAIGNS,
        }
    return render(request, "reports/overlap.html", context)


def draw_line(overlap: Overlap, campaign: Campaign) -> Line:
    alone = overlap.alone.get(campaign.pk)
    return Line(
        campaign,
        [draw_cell(overlap, campaign, other) for other in overlap.campaigns],
        alone.visits if alone else 0,
        alone.exclusive if alone else None,
        alone.percent if alone else None,
        overlap.tell_own_users(campaign.pk),
    )


def draw_cell(overlap: Overlap, one: Campaign, other: Campaign) -> Cell:
    if one.pk == other.pk:
        return Cell(None, "", None, None, f"All visits of {one.name}")
    both, percent = overlap.of(one.pk, other.pk), overlap.percent(one.pk, other.pk)
    if both is None:
        return Cell(
            None, "", None, 0, f"{one.name} and {other.name}: fewer than 20 visits, or none"
        )
    heat = 0 if not percent else min(HEATS, int(percent / (100 / HEATS)) + 1)
    said = f"{one.name} and {other.name}: {both.visits:,.0f} visits"
    if percent is not None:
        said += f", {percent:.0f} % of those of {one.name}"
    return Cell(both.visits, overlap.tell_users(one.pk, other.pk), percent, heat, said)


@require_safe
def download_overlap(request: HttpRequest) -> HttpResponseBase:
    form = OverlapForm(request.GET, viewer=person_of(request))
    overlap, _ = form.read()
    if overlap is None:
        raise Http404("No such night was counted.")
    name = f"overlap_{overlap.day or 'sample'}.csv"
    return StreamingHttpResponse(
        write_csv(overlap),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def write_csv(overlap: Overlap) -> Iterator[str]:
    """Writes every pair in both directions, because shares differ."""
    yield UTF8_MARK + write_lines([CSV_HEAD])
    for one in overlap.campaigns:
        for other in overlap.campaigns:
            both = overlap.of(one.pk, other.pk)
            if one.pk != other.pk and both is not None:
                percent = overlap.percent(one.pk, other.pk)
                names = (one.pk, plain(one.name), other.pk, plain(other.name))
                share = "" if percent is None else round(percent / 100, 4)
                users = overlap.tell_users(one.pk, other.pk).replace(",", "")
                yield write_lines([(*names, round(both.visits), share, users)])
