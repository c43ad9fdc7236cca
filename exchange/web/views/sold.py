"""Shows what a publisher sells through each of its edges: for its own people, and for the
exchange's."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.market.models import Party
from exchange.market.visibility import owned
from exchange.reading.sold import SoldThrough, read_sold
from exchange.reports.night import bars
from exchange.reports.night.campaign_reports import FUNNEL
from exchange.reports.night.tables import list_nights
from exchange.web.filters import ListFilter
from exchange.web.forms.reports import PlainSelect
from exchange.web.views.listing import person_of

WIDE, NARROW = 920, 330


class SoldForm(ListFilter):
    day = forms.ChoiceField(label="Night", required=False)
    publisher = forms.ModelChoiceField(
        Party.objects.none(), label="Publisher", required=False, widget=PlainSelect
    )

    def __init__(self, query: Any, *, viewer: User) -> None:
        super().__init__(query)
        days = [(str(day), str(day)) for day in list_nights(FUNNEL.job)]
        own = owned(Party.objects.publishers(), viewer).order_by("name")
        self.fields["day"].choices = [("", "The newest"), *days]  # type: ignore[attr-defined]
        self.fields["publisher"].queryset = own  # type: ignore[attr-defined]
        self.fields["publisher"].empty_label = None  # type: ignore[attr-defined]
        self.first = own.first()

    @property
    def asked_publisher(self) -> Party | None:
        return self.chosen.get("publisher") or self.first

    @property
    def asked_day(self) -> date | None:
        return date.fromisoformat(self.chosen["day"]) if "day" in self.chosen else None


@require_safe
def show_sold(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = SoldForm(request.GET, viewer=person)
    publisher = form.asked_publisher
    sold = read_sold(person, publisher, form.asked_day) if publisher else None
    context: dict[str, Any] = {"form": form, "publisher": publisher, "sold": sold}
    if sold is not None and sold.edges:
        rows = chart_rows(sold)
        context["charts"] = {
            "wide": bars.draw_bars(rows, width=WIDE),
            "narrow": bars.draw_bars(rows, width=NARROW),
        }
    return render(request, "reports/sold.html", context)


def chart_rows(sold: SoldThrough) -> list[bars.Row]:
    found = []
    for one in sold.edges:
        name = f"to {one.edge.buyer.name}" if one.edge else "over any path"
        behind = one.passed - one.eligible
        parts = [
            bars.Measure(one.eligible, "main", f"{name}: {one.eligible:,} eligible"),
            bars.Measure(behind, "behind", f"{name}: {behind:,} passed, and were lost later"),
            bars.Measure(one.lost_to_false, "false", f"{name}: {one.lost_to_false:,} excluded"),
            bars.Measure(
                one.lost_to_unknown, "unknown", f"{name}: {one.lost_to_unknown:,} not known"
            ),
        ]
        found.append(bars.Row(name, parts, f"{one.eligible:,}"))
    return found
