"""Says in plain English what expressions mean: for rows of a list, all at once."""

from __future__ import annotations

from collections.abc import Iterable

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Campaign
from targeting import ExpressionError
from targeting.prose import describe


def say_all(campaigns: Iterable[Campaign]) -> dict[int, str]:
    """Leaves out campaigns that no longer compile. They come with their advertisers."""
    campaigns = list(campaigns)
    if not campaigns:
        return {}
    reader = ExpressionReader(load_catalog())
    said = {}
    for campaign in campaigns:
        try:
            read = reader.read(campaign.expression, campaign.advertiser.organisation_id)
        except ExpressionError:
            continue
        said[campaign.pk] = describe(read)
    return said
