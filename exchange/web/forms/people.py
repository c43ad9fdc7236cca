"""Defines the forms of API keys and people. What may be chosen depends on the administrator's
organisation; the services check it again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from exchange.accounts.models import Organisation, User
from exchange.accounts.permissions import is_exchange_operator
from exchange.keys.models import LONGEST_KEY_LIFE, ApiKey, Scope
from exchange.keys.services import USUAL_KEY_LIFE
from exchange.market.models import Party
from exchange.market.visibility import owned
from exchange.web.forms.naming import NamedChoice


class NameForm(forms.ModelForm):  # type: ignore[type-arg]
    """An organisation; what it trades as are its parties."""

    class Meta:
        model = Organisation
        fields = ["name", "unasked_stops"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["unasked_stops"].required = False

    def clean_unasked_stops(self) -> int:
        return self.cleaned_data["unasked_stops"] or 0


class OrganisationForm(forms.ModelForm):  # type: ignore[type-arg]
    """Lets only the exchange's administrators choose the organisation; for others it is their
    own."""

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person
        if not is_exchange_operator(person):
            del self.fields["organisation"]
            return
        field = cast("NamedChoice", self.fields["organisation"])
        field.offer(Organisation.objects.all(), reverse("organisation-options"))
        field.initial = person.organisation_id

    def organisation(self) -> Organisation:
        chosen = self.cleaned_data.get("organisation") or self.person.organisation
        if chosen is None:
            raise ValidationError("Choose an organisation.")
        return cast("Organisation", chosen)

    def take_complaints(self, error: ValidationError) -> None:
        """Shows what a service refuses, at the field that it is about if the form has it."""
        for name, complaints in error.update_error_dict({}).items():
            self.add_error(name if name in self.fields else None, complaints)


class ApiKeyForm(OrganisationForm):
    scopes = forms.MultipleChoiceField(
        label="May be used to",
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.ELIGIBILITY_READ],
    )
    publishers = forms.ModelMultipleChoiceField(
        Party.objects.none(),
        required=False,
        widget=forms.SelectMultiple(attrs={"size": 8}),
        help_text="The key asks for visits of these publishers only, whatever a visit says.",
    )
    days = forms.IntegerField(
        label="Expires after days",
        min_value=1,
        max_value=LONGEST_KEY_LIFE.days,
        initial=USUAL_KEY_LIFE.days,
        help_text=f"At most {LONGEST_KEY_LIFE.days}. Make a new key before the old one ends.",
    )

    class Meta:
        model = ApiKey
        fields = ["name", "organisation"]
        field_classes = {"organisation": NamedChoice}
        help_texts = {"name": "What the key is for, for example: ad server in Frankfurt"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        publishers = cast("forms.ModelMultipleChoiceField[Party]", self.fields["publishers"])
        publishers.queryset = owned(Party.objects.publishers(), self.person).order_by("name")
        if len(only := list(publishers.queryset[:2])) == 1:
            publishers.initial = only
        if not is_exchange_operator(self.person):
            scopes = cast("forms.MultipleChoiceField", self.fields["scopes"])
            scopes.choices = [
                (value, label) for value, label in Scope.choices if value != Scope.SNAPSHOT_READ
            ]

    def expires_at(self) -> datetime:
        return timezone.now() + timedelta(days=self.cleaned_data["days"])

    def wanted(self) -> dict[str, Any]:
        """Returns the arguments of `create_api_key`."""
        return {
            "name": self.cleaned_data["name"],
            "organisation": self.organisation(),
            "publishers": list(self.cleaned_data["publishers"]),
            "scopes": self.cleaned_data["scopes"],
            "expires_at": self.expires_at(),
        }


class PersonForm(OrganisationForm):
    class Meta:
        model = User
        fields = ["username", "first_name", "last_name", "email", "role", "organisation"]
        field_classes = {"organisation": NamedChoice}
        labels = {"username": "Login name"}
        help_texts = {
            "username": "",
            "email": "Where a link goes if they forget the password.",
            "role": "What they may change; everyone may look.",
        }
