"""Says in plain English what expressions mean: for rows of a list, all at once."""

from __future__ import annotations

from collections.abc import Iterable

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Audience, Campaign
from targeting import ExpressionError
from targeting.prose import describe

Row = tuple[int, str, int | None]  # its number, the text, and whose names it may use


def say_all(campaigns: Iterable[Campaign]) -> dict[int, str]:
    """Leaves out campaigns that no longer compile. They come with their advertisers."""
    return say_rows(
        (campaign.pk, campaign.expression, campaign.advertiser.organisation_id)
        for campaign in campaigns
    )


def say_audiences(audiences: Iterable[Audience]) -> dict[int, str]:
    return say_rows((each.pk, each.expression, each.organisation_id) for each in audiences)


def say_rows(rows: Iterable[Row]) -> dict[int, str]:
    rows = list(rows)
    if not rows:
        return {}
    reader = ExpressionReader(load_catalog())
    said = {}
    for pk, text, organisation_id in rows:
        try:
            said[pk] = describe(reader.read(text, organisation_id))
        except ExpressionError:
            continue
    return said
