"""The form of “Try a visit”."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from exchange.accounts.models import User
from exchange.market.models import Campaign, Party
from exchange.market.visibility import explainable, owns
from exchange.web.forms.picking import CampaignPicker
from exchange.web.visit_texts import (
    MAX_VISIT_CHARACTERS,
    TextProblem,
    VisitProblemError,
    read_visit,
)


class VisitForm(forms.Form):
    """What to try. `problems` marks mistakes in the visit at their place."""

    publisher = forms.ModelChoiceField(
        Party.objects.publishers().order_by("name"), empty_label="Choose a publisher"
    )
    visit = forms.CharField(strip=False, max_length=MAX_VISIT_CHARACTERS)
    campaign = CampaignPicker(
        label="Explain a campaign",
        required=False,
        help_text="Optional: see why it is eligible or not.",
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person
        self.problems: tuple[TextProblem, ...] = ()
        campaigns = explainable(Campaign.objects.with_advertiser(), person)
        cast("CampaignPicker", self.fields["campaign"]).campaigns = campaigns

    def clean_visit(self) -> dict[str, Any]:
        try:
            return read_visit(self.cleaned_data["visit"].replace("\r\n", "\n"))
        except VisitProblemError as error:
            self.problems = (error.problem,)
            raise forms.ValidationError(error.problem.message) from None

    def clean(self) -> dict[str, Any]:
        """A publisher's people learn about a campaign where it is booked with them, only there."""
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
