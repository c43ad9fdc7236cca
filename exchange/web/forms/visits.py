"""Defines the form of “Try a visit”."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from exchange.accounts.models import User
from exchange.accounts.ownership import owns
from exchange.market.catalog import load_catalog
from exchange.market.given_visits import GivenVisit, read_given
from exchange.market.models import Campaign, Party
from exchange.market.visibility import explainable
from exchange.serving.problems import ProblemError
from exchange.web.forms.naming import NamedChoice
from exchange.web.forms.picking import CampaignPicker
from exchange.web.forms.saving import offer_parties
from exchange.web.visit_texts import (
    MAX_VISIT_CHARACTERS,
    TextProblem,
    VisitProblemError,
    read_visit,
)


class VisitForm(forms.Form):
    """What to try. `problems` marks mistakes in the visit at their place."""

    publisher = NamedChoice(Party.objects.publishers(), empty_label="Choose a publisher")
    visit = forms.CharField(strip=False, max_length=MAX_VISIT_CHARACTERS)
    imp = forms.IntegerField(required=False, widget=forms.HiddenInput)
    campaign = CampaignPicker(
        label="Explain a campaign",
        required=False,
        help_text="Optional: see why it is eligible or not.",
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person
        self.problems: tuple[TextProblem, ...] = ()
        offer_parties(self, "publisher", Party.objects.publishers())
        campaigns = explainable(Campaign.objects.with_advertiser(), person)
        cast("CampaignPicker", self.fields["campaign"]).campaigns = campaigns

    def clean_visit(self) -> list[GivenVisit]:
        """Reads one visit, or one for each impression of a bid request."""
        try:
            document = read_visit(self.cleaned_data["visit"].replace("\r\n", "\n"))
            return read_given(document, load_catalog())
        except VisitProblemError as error:
            self.problems = (error.problem,)
            raise forms.ValidationError(error.problem.message) from None
        except ProblemError as problem:
            raise forms.ValidationError(problem.detail) from None

    def clean_imp(self) -> int:
        """Reads a number from 1; one that was left from another bid request means the first."""
        count, number = len(self.cleaned_data.get("visit", ())), self.cleaned_data["imp"]
        return number if number and 1 <= number <= count else 1

    def clean(self) -> dict[str, Any]:
        """Refuses a campaign of others where it is not booked with a publisher of the person's."""
        chosen = super().clean() or self.cleaned_data
        campaign, publisher = chosen.get("campaign"), chosen.get("publisher")
        if campaign and publisher and not may_explain(self.person, campaign, publisher):
            said = f"{campaign.name} is not booked with a publisher of yours there."
            self.add_error("campaign", said)
        return chosen


def may_explain(person: User, campaign: Campaign, publisher: Party) -> bool:
    if owns(person, campaign):
        return True
    return owns(person, publisher) and campaign.bookings.filter(publisher=publisher).exists()
