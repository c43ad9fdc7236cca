"""Why a campaign is eligible for a visit at a publisher, or why not: check by check, edge by edge.

It reads the market as it is saved now, which may be newer than the live snapshot; the page says so.
Every truth comes from `Expression.explain`: nothing here decides anything by itself. Of conditions
that the viewer may not read only the verdict is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Booking, Campaign, Party
from exchange.market.visibility import Sight, sight
from exchange.serving.eligibility import stamp
from exchange.serving.visits import flatten
from exchange.web.paths import BookingPath, Hop, find_paths
from targeting import Catalog, ExpressionError

LINES_SHOWN = 200
VALUE_CHARACTERS = 120
FIXES_SHOWN = 3
GROUPS = {
    "and": "All of",
    "or": "Any of",
    "xor": "An odd number of",
    "xnor": "Both or neither of",
    "not": "Not",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A node of an expression: `saw` says what the visit carries for it."""

    depth: int
    truth: bool | None
    text: str
    saw: str
    is_group: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that must be true for the campaign to be eligible. `fixes` are single conditions
    that would make it so, each by itself. `note` says what was left out."""

    title: str
    truth: bool | None
    detail: str = ""
    lines: tuple[Line, ...] = ()
    has_more: bool = False
    fixes: tuple[str, ...] = ()
    edge_id: int | None = None
    has_page: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    campaign: Campaign
    publisher: Party
    steps: tuple[Step, ...]
    path: BookingPath | None

    @property
    def is_eligible(self) -> bool:
        return all(step.truth is True for step in self.steps)

    @property
    def reason(self) -> str:
        """The first thing that stands in the way, in words."""
        step = next((step for step in self.steps if step.truth is not True), None)
        if step is None:
            return ""
        if step.detail:
            return step.detail
        said = "is not true" if step.truth is False else "asks for something the visit lacks"
        return f"{step.title} {said}."


def explain_campaign(
    *,
    campaign: Campaign,
    publisher: Party,
    visit: dict[str, Any],
    viewer: User,
    at: datetime | None = None,
) -> Explanation:
    """Whether the viewer may ask about this campaign at this publisher is the caller's to check."""
    moment = at or datetime.now(UTC)
    bookings = campaign.bookings.with_parties()
    booking = bookings.filter(publisher=publisher).first()
    steps = [*check_booking(booking, publisher), *check_campaign(campaign, moment)]
    path = find_paths([booking], viewer)[0] if booking else None
    catalog = load_catalog()
    flat = flatten(visit, {attribute.name for attribute in catalog})
    stamp(flat, publisher.seller_id, moment)
    if path:
        steps += check_path(path, flat, catalog)
    title, owner = "The campaign's targeting", campaign.advertiser
    targeting = check_expression(title, campaign.expression, owner, flat, catalog)
    steps.append(redact_step(targeting, sight(viewer, campaign)))
    return Explanation(campaign, publisher, tuple(steps), path)


def check_booking(booking: Booking | None, publisher: Party) -> Iterator[Step]:
    if booking is None:
        yield Step("Booked", False, f"The campaign is not booked with {publisher.name}.")
    else:
        detail = "" if booking.is_active else f"The booking with {publisher.name} is switched off."
        yield Step(f"Booked with {publisher.name}", booking.is_active, detail)


def check_campaign(campaign: Campaign, moment: datetime) -> Iterator[Step]:
    status = campaign.get_status_display().lower()
    said = "" if campaign.is_live else f"The campaign is {status}, not live."
    yield Step("Campaign is live", campaign.is_live, said)
    yield Step("In flight", *check_flight(campaign, moment))


def check_flight(campaign: Campaign, moment: datetime) -> tuple[bool, str]:
    if moment < campaign.starts_at:
        return False, f"The campaign starts on {campaign.starts_at:%Y-%m-%d %H:%M} UTC."
    if campaign.ends_at and moment >= campaign.ends_at:
        return False, f"The campaign ended on {campaign.ends_at:%Y-%m-%d %H:%M} UTC."
    return True, ""


def check_path(path: BookingPath, flat: dict[str, Any], catalog: Catalog) -> Iterator[Step]:
    if path.reason:
        yield Step("A path exists", False, path.reason)
    for hop in path.hops:
        yield check_edge(hop, flat, catalog)


def check_edge(hop: Hop, flat: dict[str, Any], catalog: Catalog) -> Step:
    title = f"The rule of {hop.edge.seller.name} → {hop.buyer.name}"
    edge = hop.edge
    step = check_expression(title, edge.expression, edge.seller, flat, catalog)
    return redact_step(replace(step, edge_id=edge.pk), hop.seen)


def redact_step(step: Step, seen: Sight) -> Step:
    """The details go too: they quote what does not compile or what the visit should carry."""
    step = replace(step, has_page=seen.has_page)
    if seen.reads_conditions:
        return step
    return replace(step, detail="", lines=(), has_more=False, fixes=(), note=seen.redact(""))


def check_expression(
    title: str, text: str, owner: Party, flat: dict[str, Any], catalog: Catalog
) -> Step:
    """Audiences and lists are those of the owner's organisation."""
    try:
        expression = read_expression(
            text=text, catalog=catalog, organisation_id=owner.organisation_id
        )
        explained = expression.explain(flat).to_json()
    except ExpressionError as error:
        return Step(title, False, f"{title} no longer compiles: {error}")
    found = list(islice(write_lines(explained), LINES_SHOWN + 1))
    lacking = ", ".join(explained["lacking"])
    return Step(
        title,
        truth=False if lacking else explained["truth"],
        detail=f"Every visit must carry {lacking}." if lacking else "",
        lines=tuple(found[:LINES_SHOWN]),
        has_more=len(found) > LINES_SHOWN,
        fixes=tuple(map(describe_fix, explained["fixes"][:FIXES_SHOWN])),
    )


def describe_fix(fix: dict[str, str]) -> str:
    return f"{fix['condition']} were {fix['change']}"


def write_lines(document: dict[str, Any], depth: int = 0) -> Iterator[Line]:
    """Parents first, as one reads; flat, because a template cannot nest a hundred levels."""
    is_group = document["kind"] in GROUPS
    text = GROUPS[document["kind"]] if is_group else document["text"]
    yield Line(depth, document["truth"], text, describe_value(document), is_group)
    for child in document.get("children", ()):
        yield from write_lines(child, depth + 1)


def describe_value(document: dict[str, Any]) -> str:
    if "value" not in document:
        return ""
    if document.get("malformed"):
        return "the visit's value has the wrong type, so it counts as missing"
    value = document["value"]
    if value is None:
        return "the visit does not say"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if value == []:
        text = "an empty set"
    shortened = text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}…"
    return f"the visit has {shortened}"
