"""Reads what the page of a night's report takes from its address: the day, and what narrows its
rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from django import forms
from django.db.models import QuerySet

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Campaign, Party
from exchange.market.querysets import ID_DIGITS
from exchange.market.visibility import explainable
from exchange.reports.night.asking import PAGES_SHOWN, Question
from exchange.reports.night.shapes import Kind, NightReport
from exchange.reports.queries import MOST_NAMED, TooManyNamedError, traded_publishers
from exchange.web.filters import ListFilter, search_field
from exchange.web.forms.reports import PlainSelect


class NightForm(ListFilter):
    """Has the fields that the report's columns allow. A value that makes no sense is as if it were
    not there."""

    def __init__(
        self, query: Any, *, report: NightReport, days: Sequence[date], viewer: User
    ) -> None:
        super().__init__(query)
        self.report = report
        self.viewer = viewer
        self.fields["day"] = forms.ChoiceField(
            label="Night",
            required=False,
            choices=[("", "The newest"), *((str(day), str(day)) for day in days)],
        )
        if report.column_of(Kind.CAMPAIGN):
            self.fields["q"] = search_field("Part of a name")
            self.fields["q"].label = "Campaign or advertiser"
        if report.column_of(Kind.PUBLISHER):
            self.fields["publisher"] = forms.ModelChoiceField(
                offered_publishers(viewer),
                label="Publisher",
                required=False,
                empty_label="All publishers",
                widget=PlainSelect,
            )
        if report.choice is not None:
            all_of_them = [] if report.choice.default else [("", "All")]
            self.fields["choice"] = forms.ChoiceField(
                label=report.choice.label,
                required=False,
                choices=[*all_of_them, *report.choice.values],
                initial=report.choice.default,
            )

    def find_campaign(self) -> Campaign | None:
        """Finds the campaign that a link names, if the person may ask about it."""
        number = str(self.data.get("campaign", ""))
        if not number.isdecimal() or len(number) > ID_DIGITS:
            return None
        campaigns = explainable(Campaign.objects.select_related("advertiser"), self.viewer)
        return campaigns.filter(pk=int(number)).first()

    def question(self) -> Question:
        """Raises `TooManyNamedError`."""
        chosen, campaign = self.chosen, self.find_campaign()
        publisher = chosen.get("publisher")
        default = self.report.choice.default if self.report.choice else ""
        return Question(
            report=self.report,
            person=self.viewer,
            day=date.fromisoformat(chosen["day"]) if "day" in chosen else None,
            campaigns=(campaign.pk,) if campaign else self._find_named(chosen.get("q", "")),
            publisher=publisher.seller_id if publisher else "",
            choice=chosen.get("choice", default),
            sort=self._read_sort(),
            page=self._read_page(),
        )

    def _find_named(self, text: str) -> tuple[int, ...] | None:
        if not text:
            return None
        if is_exchange_operator(self.viewer):
            found = Campaign.objects.find_named(text, most=MOST_NAMED)
        else:
            campaigns = explainable(Campaign.objects.order_by(), self.viewer).search(text)
            found = list(campaigns.values_list("pk", flat=True)[: MOST_NAMED + 1])
        if found is None or len(found) > MOST_NAMED:
            raise TooManyNamedError
        return tuple(found)

    def _read_sort(self) -> str:
        sort = str(self.data.get("sort", ""))
        return sort if sort.removeprefix("-") in self.report.names else ""

    def _read_page(self) -> int:
        page = str(self.data.get("page", ""))
        is_page = page.isdecimal() and len(page) <= len(str(PAGES_SHOWN))
        return min(max(int(page), 1), PAGES_SHOWN) if is_page else 1


def offered_publishers(viewer: User) -> QuerySet[Party]:
    rows = Party.objects.publishers() if is_exchange_operator(viewer) else traded_publishers(viewer)
    return rows.order_by("name")
