"""Explains why a campaign is eligible for a visit at a publisher, or why not: check by check, edge
by edge.

It reads the market as it is saved now, which may be newer than the live snapshot; the page says so.
Every truth comes from `Expression.explain`: nothing here decides anything by itself. Of conditions
that the viewer may not read only the verdict is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Booking, Campaign, Party
from exchange.market.visibility import Sight, sight
from exchange.market.walking import walk
from exchange.reading.paths import BookingPath, Hop, find_paths, show_edges, show_path
from exchange.serving.visits import flatten, stamp
from targeting import AttributeType, Catalog, ExpressionError
from targeting.catalog import UTC_OFFSET
from targeting.visits import EPOCH

LINES_SHOWN = 200
VALUE_CHARACTERS = 120
FIXES_SHOWN = 3
TIMES = (AttributeType.TIMESTAMP, AttributeType.TIMESTAMP_LOCAL)
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
    """Why a campaign is eligible or not. `changes` are steps of which each one alone, were it true,
    would make it eligible."""

    campaign: Campaign
    publisher: Party
    steps: tuple[Step, ...]
    path: BookingPath | None
    changes: tuple[Step, ...] = ()

    @property
    def is_eligible(self) -> bool:
        return all(step.truth is True for step in self.steps)

    @property
    def reason(self) -> str:
        """Says the first thing that stands in the way, in words."""
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
    visit: Mapping[str, object],
    viewer: User,
    at: datetime | None = None,
) -> Explanation:
    """Explains a campaign. Whether the viewer may ask about it at this publisher is the caller's to
    check. `at` is when the visit happens: what it says itself does not count here."""
    moment = at or datetime.now(UTC)
    bookings = campaign.bookings.kept().with_parties()
    booking = bookings.filter(publisher=publisher).first()
    catalog = load_catalog()
    flat = flatten(visit, {attribute.name for attribute in catalog})
    stamp(flat, publisher.seller_id, moment)
    before_path = [*check_booking(booking, publisher), *check_campaign(campaign, moment)]
    on_path = explain_path(booking, viewer, flat, catalog)
    title, owner = "The campaign's targeting", campaign.advertiser
    explained = explain_expression(title, campaign.expression, owner, flat, catalog)
    targeting = redact_step(explained, sight(viewer, campaign))
    changes = find_changes([*before_path, targeting], on_path)
    steps = (*before_path, *on_path.steps, targeting)
    return Explanation(campaign, publisher, steps, on_path.path, changes)


@dataclass(frozen=True, slots=True)
class PathExplanation:
    """The path's part of an explanation. `openers`: steps of which one would suffice for it."""

    path: BookingPath | None = None
    steps: tuple[Step, ...] = ()
    openers: tuple[Step, ...] = ()


def explain_path(
    booking: Booking | None, viewer: User, flat: dict[str, Any], catalog: Catalog
) -> PathExplanation:
    if booking is None:
        return PathExplanation()
    if booking.policy == Booking.Policy.ANY:
        return explain_any_path(booking, viewer, flat, catalog)
    path = find_paths([booking], viewer)[0]
    steps = tuple(check_path(path, flat, catalog))
    failed = tuple(step for step in steps if step.truth is not True)
    return PathExplanation(path, steps, failed if len(failed) == 1 else ())


def explain_any_path(
    booking: Booking, viewer: User, flat: dict[str, Any], catalog: Catalog
) -> PathExplanation:
    """Explains the cheapest path that is open to the visit, or the one that is nearest to it."""
    walked = walk(booking=booking, visit=flat, catalog=catalog)
    path = show_path(booking, walked.path, viewer)
    edges = tuple(check_path(path, flat, catalog))
    if not path.hops:
        return PathExplanation(path, edges, edges)
    title = f"A path of at most {booking.most_hops} is open to the visit"
    closed = sum(step.truth is not True for step in edges)
    said = f"Of the nearest path, {closed} of {len(edges)} edges refuse the visit."
    first = Step(title, walked.is_open, "" if walked.is_open else f"No path is open. {said}")
    openers = tuple(check_edge(hop, flat, catalog) for hop in show_edges(walked.openers, viewer))
    return PathExplanation(path, (first, *edges), openers)


def find_changes(steps: list[Step], on_path: PathExplanation) -> tuple[Step, ...]:
    """Finds what alone would make the booking eligible: the only step that fails, if there is
    one."""
    failed = tuple(step for step in steps if step.truth is not True)
    if all(step.truth is True for step in on_path.steps):
        return failed if len(failed) == 1 else ()
    return () if failed else on_path.openers


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
    step = explain_expression(title, edge.expression, edge.seller, flat, catalog)
    return redact_step(replace(step, edge_id=edge.pk), hop.seen)


def redact_step(step: Step, seen: Sight) -> Step:
    """Redacts a step and its details, which quote expressions and what the visit should carry."""
    step = replace(step, has_page=seen.has_page)
    if seen.reads_conditions:
        return step
    return replace(step, detail="", lines=(), has_more=False, fixes=(), note=seen.redact(""))


def explain_expression(
    title: str, text: str, owner: Party, flat: dict[str, Any], catalog: Catalog
) -> Step:
    """Explains an expression with the audiences and lists of the owner's organisation."""
    try:
        expression = read_expression(
            text=text, catalog=catalog, organisation_id=owner.organisation_id
        )
        explained = expression.explain(flat).to_json()
    except ExpressionError as error:
        return Step(title, False, f"{title} no longer compiles: {error}")
    found = list(islice(write_lines(explained, flat, catalog), LINES_SHOWN + 1))
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


def write_lines(
    document: dict[str, Any], flat: dict[str, Any], catalog: Catalog, depth: int = 0
) -> Iterator[Line]:
    """Yields lines, parents first; flat, because a template cannot nest a hundred levels."""
    is_group = document["kind"] in GROUPS
    text = GROUPS[document["kind"]] if is_group else document["text"]
    yield Line(depth, document["truth"], text, describe_value(document, flat, catalog), is_group)
    for child in document.get("children", ()):
        yield from write_lines(child, flat, catalog, depth + 1)


def describe_value(document: dict[str, Any], flat: dict[str, Any], catalog: Catalog) -> str:
    if "value" not in document:
        return ""
    if document.get("malformed"):
        return "the visit's value has the wrong type, so it counts as missing"
    value = document["value"]
    if value is None:
        return "the visit does not say"
    kind = catalog[document["attribute"]].type
    if kind in TIMES:
        return describe_time(value, kind, flat.get(UTC_OFFSET))
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if value == []:
        text = "an empty set"
    shortened = text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}…"
    return f"the visit has {shortened}"


def describe_time(milliseconds: int, kind: AttributeType, offset: object) -> str:
    """Tells the visitor's own clock only with an offset, in minutes."""
    try:
        moment = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return "the visit has a time that no calendar has"
    if kind == AttributeType.TIMESTAMP_LOCAL and type(offset) is int:
        own = moment + timedelta(minutes=offset)
        return f"it is {own:%a %Y-%m-%d %H:%M} on the visitor's clock"
    return f"it is {moment:%a %Y-%m-%d %H:%M} UTC"
