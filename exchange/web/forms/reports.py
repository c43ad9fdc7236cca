"""Reads what the report pages take from the address: days, publisher, campaign."""

from __future__ import annotations

from datetime import date
from typing import Any, cast

from django import forms
from django.forms.renderers import BaseRenderer
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from exchange.accounts.models import User
from exchange.market.models import Campaign, Party
from exchange.market.visibility import explainable
from exchange.reports.queries import Selection

MAX_DAYS_SHOWN = 366


def day_field(label: str) -> forms.DateField:
    return forms.DateField(
        label=label, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )


class PlainSelect(forms.Select):
    """A menu that is written at once: Django's own takes two templates for each of hundreds of
    publishers."""

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,  # noqa: ARG002, as Django calls it
    ) -> SafeString:
        widget = self.get_context(name, value, attrs)["widget"]
        options = format_html_join(
            "\n",
            '<option value="{}"{}>{}</option>',
            (
                (option["value"], flatatt(option["attrs"]), option["label"])
                for _, group, _ in widget["optgroups"]
                for option in group
            ),
        )
        return format_html(
            '<select name="{}"{}>\n{}\n</select>', name, flatatt(widget["attrs"]), options
        )


class DaysForm(forms.Form):
    first_day = day_field("From")
    last_day = day_field("To")

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or self.cleaned_data
        first, last = chosen.get("first_day"), chosen.get("last_day")
        if first and last and last < first:
            self.add_error("last_day", "The last day is before the first.")
        return chosen


class ReportForm(DaysForm):
    """Days that the address does not name are the newest reported ones."""

    q = forms.CharField(
        label="Campaign or advertiser",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "Part of a name"}),
    )
    publisher = forms.ModelChoiceField(
        Party.objects.filter(kind=Party.Kind.PUBLISHER).order_by("name"),
        label="Publisher",
        required=False,
        empty_label="All publishers",
        widget=PlainSelect,
    )
    campaign = forms.ModelChoiceField(
        Campaign.objects.none(), required=False, widget=forms.HiddenInput
    )

    def __init__(self, query: Any, days: tuple[date, date], *, viewer: User) -> None:
        named = {key: value for key, value in query.items() if value}
        super().__init__({"first_day": days[0], "last_day": days[1], **named})
        self.viewer = viewer
        campaigns = cast("forms.ModelChoiceField[Campaign]", self.fields["campaign"])
        campaigns.queryset = explainable(Campaign.objects.select_related("advertiser"), viewer)

    def clean(self) -> dict[str, Any]:
        chosen = super().clean()
        first, last = chosen.get("first_day"), chosen.get("last_day")
        if first and last and (last - first).days >= MAX_DAYS_SHOWN:
            self.add_error("last_day", f"Choose at most {MAX_DAYS_SHOWN} days.")
        return chosen

    def selection(self) -> Selection:
        chosen = self.cleaned_data
        return Selection(
            first_day=chosen["first_day"],
            last_day=chosen["last_day"],
            viewer=self.viewer,
            publisher=chosen["publisher"],
            campaign=chosen["campaign"],
            text=chosen["q"],
        )
