"""Writes what the live impact answers: the figures of `exchange.reading.impact`, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exchange.accounts.ownership import Person
from exchange.market.models import Campaign
from exchange.reading.impact import LEAST_PEOPLE, Reached, measure
from exchange.reports.small_counts import is_small, least_told
from targeting import Expression
from targeting.prose import phrase_alone
from targeting.tree import walk_paths

MOST_LIMITS = 3


def tell_impact(
    expression: Expression, campaign: Campaign | None, person: Person
) -> dict[str, Any]:
    reached = measure(expression, campaign)
    if reached is None:
        return {"counted": False}
    sample, count = reached.sample, reached.count
    source = {
        "counted": True,
        "source": "sample",
        "sample": len(sample),
        "days": sample.day_count,
        "from": sample.first_day.isoformat(),
        "to": sample.last_day.isoformat(),
    }
    if reached.is_hidden:
        return {**source, "hidden": True, "least_people": LEAST_PEOPLE}
    return {
        **source,
        "hidden": False,
        "visits_a_day": round(count.visits),
        "interval": [round(count.low), round(count.high)],
        **tell_few(count.users, least_told(person)),
        "publishers": count.publishers,
        "stages": {name: round(visits) for name, visits in reached.stages},
        "saved": tell_saved(reached.saved, campaign),
        "limits": list(tell_limits(reached, expression)),
        "shares": reached.shares,
    }


def tell_limits(reached: Reached, expression: Expression) -> Iterator[dict[str, Any]]:
    nodes = dict(walk_paths(expression.root))
    for limit in reached.limits[:MOST_LIMITS]:
        if round(limit.gain):
            words = phrase_alone(nodes[limit.path], expression.catalog)
            yield {"path": limit.path, "gain": round(limit.gain), "words": words}


def tell_few(users: float, least: int) -> dict[str, int | None]:
    """Users a day; so few that they are not told are null, below a number."""
    few = is_small(users, least)
    return {"users_a_day": None if few else round(users), "users_below": least if few else None}


def tell_saved(visits: float | None, campaign: Campaign | None) -> dict[str, Any] | None:
    if visits is None or campaign is None:
        return None
    is_live = campaign.status == Campaign.Status.LIVE
    return {"visits_a_day": round(visits), "is_live": is_live}
