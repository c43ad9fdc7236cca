"""Lets people choose a campaign by typing, among more of them than a menu could list."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from exchange.market.models import Campaign

CAMPAIGN_REFERENCE = re.compile(r"#(\d{1,18})\)?\s*$")
LONGEST_REFERENCE = 400


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
