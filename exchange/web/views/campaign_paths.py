"""Shows the paths of a campaign: the ways from a publisher to its advertiser, compared side by
side, and for a visit the edges that refuse it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.market.catalog import load_catalog
from exchange.market.given_visits import GivenVisit, read_given
from exchange.market.models import Booking, Campaign, Party
from exchange.reading.alternatives import compare_paths
from exchange.reports.sample_table import open_sample
from exchange.serving.problems import ProblemError
from exchange.web.forms.naming import NamedChoice
from exchange.web.forms.saving import offer_parties
from exchange.web.views.campaign_tabs import find_campaign
from exchange.web.views.listing import person_of
from exchange.web.visit_texts import MAX_VISIT_CHARACTERS, VisitProblemError, read_visit


class PathsForm(forms.Form):
    """Which publisher, booked or not, and optionally for which visit."""

    publisher = NamedChoice(Party.objects.publishers(), required=False)
    visit = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_VISIT_CHARACTERS,
        label="Visit (JSON)",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="Optional: marks the edges that refuse it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "publisher", Party.objects.publishers())

    def clean_visit(self) -> GivenVisit | None:
        """Reads the visit that was pasted; of a bid request, its first impression."""
        text = self.cleaned_data["visit"].replace("\r\n", "\n")
        if not text.strip():
            return None
        try:
            return read_given(read_visit(text), load_catalog())[0]
        except VisitProblemError as error:
            place = f"{error.problem.line}:{error.problem.column}"
            raise forms.ValidationError(f"{place} {error.problem.message}") from None
        except ProblemError as problem:
            raise forms.ValidationError(problem.detail) from None


@require_safe
def show_paths(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = find_campaign(request, pk)
    asked = request.GET.dict()
    if not asked.get("publisher") and (first := find_booking(campaign, None)):
        asked["publisher"] = str(first.publisher_id)
    form = PathsForm(asked)
    publisher = form.cleaned_data["publisher"] if form.is_valid() else None
    booking = find_booking(campaign, publisher) if publisher else None
    context: dict[str, Any] = {"campaign": campaign, "tab": "paths", "form": form}
    if booking is not None and not form.errors:
        given: GivenVisit | None = form.cleaned_data["visit"]
        visit, at = (given.flat, given.at) if given else (None, None)
        context |= {
            "booking": booking,
            "alternatives": compare_paths(booking, person_of(request), visit, at),
            "given": given,
            "sample": open_sample(),
        }
    status = 422 if form.errors else 200
    return render(request, "market/campaign_paths.html", context, status=status)


def find_booking(campaign: Campaign, publisher: Party | None) -> Booking | None:
    """Finds the booking with that publisher, or makes one that is not saved; without a publisher
    the first one that is booked."""
    kept = campaign.bookings.kept().with_parties().order_by("publisher__name", "pk")
    if publisher is None:
        return kept.first()
    booked = kept.filter(publisher=publisher).first()
    return booked or Booking(campaign=campaign, publisher=publisher)
