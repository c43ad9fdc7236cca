"""The forms of the market. They check input and hold a model that a service then saves.

An expression is checked here too, so that its errors appear together with those of other fields.
Every form knows its person and offers only what may be chosen: the own side of a trade belongs to
the person's organisation, the other side may be any party by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import check_expression
from exchange.market.visibility import owned
from targeting import ExpressionError

CAMPAIGN_REFERENCE = re.compile(r"#(\d{1,18})\)?\s*$")
LONGEST_REFERENCE = 400
MINUTES = "%Y-%m-%dT%H:%M"


class FlightInput(forms.DateTimeInput):
    """The browser's own picker, to the minute, in UTC."""

    def __init__(self) -> None:
        super().__init__(format=MINUTES, attrs={"type": "datetime-local"})


def offer_parties(form: forms.BaseForm, name: str, parties: QuerySet[Party]) -> None:
    """Only those who can stand there, by name."""
    field = cast("forms.ModelChoiceField[Party]", form.fields[name])
    field.queryset = parties.order_by("name")
    article = "an" if name[0] in "aeiou" else "a"
    field.empty_label = f"Choose {article} {name}"


class PersonForm(forms.ModelForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person


class ExpressionForm(PersonForm):
    """A form with an expression. `problems` says what is wrong with it and where."""

    owner_field: str  # the party whose organisation the expression is of

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.problems: tuple[Any, ...] = ()
        self.fields["expression"].strip = False  # type: ignore[attr-defined]
        # Empty text is an error of the language, and the language says it better.
        self.fields["expression"].required = False

    def clean_expression(self) -> str:
        text: str = self.cleaned_data["expression"].replace("\r\n", "\n")
        return text

    def clean(self) -> dict[str, Any] | None:
        """After the fields, because the owner decides which audiences and lists there are."""
        cleaned = super().clean()
        owner: Party | None = self.cleaned_data.get(self.owner_field)
        try:
            check_expression(
                text=self.cleaned_data.get("expression", ""),
                organisation_id=owner.organisation_id if owner else None,
            )
        except ExpressionError as error:
            self.take_problems(error)
        return cleaned

    def take_problems(self, error: ExpressionError) -> None:
        self.problems = tuple(error.errors)
        count = len(self.problems)
        said = "one problem" if count == 1 else f"{count} problems"
        self.add_error("expression", f"The expression has {said}, marked below.")


class PartyForm(PersonForm):
    class Meta:
        model = Party
        fields = ["name", "kind", "seller_id", "domain", "organisation"]
        labels = {"seller_id": "Seller id"}
        help_texts = {"domain": "Optional, for example news.example"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_exchange_operator(self.person):
            del self.fields["organisation"]


class EdgeForm(ExpressionForm):
    owner_field = "seller"

    class Meta:
        model = Edge
        fields = ["seller", "buyer", "fee_percent", "is_active", "expression"]
        labels = {
            "fee_percent": "Fee in percent",
            "is_active": "Active: visits may pass this edge",
            "expression": "Rule: which visits may pass",
        }
        help_texts = {"fee_percent": "What the seller keeps of every bid that passes."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "seller", owned(Party.objects.sellers(), self.person))
        offer_parties(self, "buyer", Party.objects.buyers())


class CampaignForm(ExpressionForm):
    owner_field = "advertiser"

    starts_at = forms.DateTimeField(label="Starts (UTC)", widget=FlightInput())
    ends_at = forms.DateTimeField(
        label="Ends (UTC)",
        widget=FlightInput(),
        required=False,
        help_text="Leave empty to run without end.",
    )

    class Meta:
        model = Campaign
        fields = ["name", "advertiser", "status", "bid_cpm", "starts_at", "ends_at", "expression"]
        labels = {
            "bid_cpm": "Bid (CPM)",
            "expression": "Targeting: which visits this campaign wants",
        }
        help_texts = {"status": "Only live campaigns are served."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "advertiser", owned(Party.objects.advertisers(), self.person))

    def clean_starts_at(self) -> datetime | None:
        return self.keep_seconds("starts_at")

    def clean_ends_at(self) -> datetime | None:
        return self.keep_seconds("ends_at")

    def keep_seconds(self, name: str) -> datetime | None:
        """The picker knows minutes only: a minute that was left alone keeps its seconds."""
        given: datetime | None = self.cleaned_data[name]
        before: datetime | None = getattr(self.instance, name)
        if given and before and given == before.replace(second=0, microsecond=0):
            return before
        return given


class CampaignPicker(forms.Field):
    """A campaign by typing: `Summer sale · Acme (#12)`, as the suggestions write it, or `#12`. The
    form says among which; by itself the field finds none."""

    campaigns: QuerySet[Campaign] = Campaign.objects.none()

    def to_python(self, value: Any) -> Any:
        if isinstance(value, Campaign) or value in self.empty_values:
            return value or None
        text = str(value)[:LONGEST_REFERENCE]
        return self.by_reference(text) or self.by_name(text)

    def by_reference(self, text: str) -> Campaign | None:
        found = CAMPAIGN_REFERENCE.search(text) or re.fullmatch(r"\s*(\d{1,18})\s*", text)
        if not found:
            return None
        return self.campaigns.filter(pk=found[1]).first()

    def by_name(self, text: str) -> Campaign:
        named = self.campaigns.filter(name__iexact=text.strip())
        match list(named[:2]):
            case [campaign]:
                return campaign
            case []:
                raise ValidationError(f"There is no campaign “{text}”. Type a part of its name.")
            case _:
                raise ValidationError(f"Several campaigns are called “{text}”. Choose one.")

    def prepare_value(self, value: Any) -> Any:
        return campaign_label(value) if isinstance(value, Campaign) else value


def campaign_label(campaign: Campaign) -> str:
    return f"{campaign.name} · {campaign.advertiser.name} (#{campaign.pk})"


class BookingForm(PersonForm):
    campaign = CampaignPicker(
        widget=forms.TextInput(attrs={"placeholder": "Type a part of the campaign's name"})
    )

    class Meta:
        model = Booking
        fields = ["campaign", "publisher", "is_active"]
        labels = {"is_active": "Active: served as soon as the next snapshot is live"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_parties(self, "publisher", Party.objects.publishers())
        campaigns = owned(Campaign.objects.with_advertiser(), self.person)
        cast("CampaignPicker", self.fields["campaign"]).campaigns = campaigns
        if self.instance.pk:
            # A booking is the pair; another pair is another booking.
            self.fields["campaign"].disabled = self.fields["publisher"].disabled = True
            self.initial["campaign"] = self.instance.campaign


def save_form(form: forms.ModelForm[Any], save: Callable[[Any], object]) -> bool:
    """Calls the service with the form's model. What it complains about becomes an error of the
    form, which is then shown again with everything that was typed."""
    if not form.is_valid():
        return False
    try:
        save(form.instance)
    except ExpressionError as error:
        if not isinstance(form, ExpressionForm):
            raise
        form.take_problems(error)
    except ValidationError as error:
        take_complaints(form, error)
    return not form.errors


def take_complaints(form: forms.ModelForm[Any], error: ValidationError) -> None:
    """A complaint about a field that the form does not show is one about the form."""
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, complaints in error.error_dict.items():
        form.add_error(name if name in form.fields else None, complaints)
