"""Puts findings in words, for one reader: conditions that they may not read are left out.

Every sentence says what is wrong and what would help. Names of parties are public, and so is the
fact that an edge is in the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from exchange.accounts.models import User
from exchange.findings.models import BookingFinding
from exchange.findings.traffic import DAYS
from exchange.market.models import Booking, Edge, Party
from exchange.market.visibility import sight

Kind = BookingFinding.Kind


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as one reader is told it; `conditions` are those of `owners`, place by place."""

    finding: BookingFinding
    message: str
    conditions: tuple[tuple[str, str], ...] = ()

    @property
    def booking(self) -> Booking:
        return self.finding.booking


def tell(findings: Sequence[BookingFinding], reader: User) -> list[Told]:
    """Tells findings in two queries; they come with booking, campaign and parties."""
    edges = Edge.objects.with_parties().in_bulk({pk for f in findings for pk in f.edge_ids})
    parties = Party.objects.in_bulk({pk for f in findings for pk in f.party_ids})
    return [
        Told(
            finding,
            write_message(finding, edges, parties),
            tuple(write_conditions(finding, edges, reader)),
        )
        for finding in findings
    ]


def tell_by_booking(findings: QuerySet[BookingFinding], reader: User) -> dict[int, list[Told]]:
    """Tells the findings of several bookings, each with its own."""
    joined = findings.select_related("booking__campaign__advertiser", "booking__publisher")
    told: dict[int, list[Told]] = {}
    for one in tell(list(joined), reader):
        told.setdefault(one.booking.pk, []).append(one)
    return told


def write_message(
    finding: BookingFinding, edges: dict[int, Edge], parties: dict[int, Party]
) -> str:
    booking = finding.booking
    publisher, advertiser = booking.publisher.name, booking.campaign.advertiser.name
    named = " and ".join(str(edges[pk]) for pk in finding.edge_ids if pk in edges)
    if finding.kind == Kind.NO_PATH:
        if booking.policy == Booking.Policy.PINNED:
            return (
                f"The pinned path does not lead from {publisher} to {advertiser} in at most "
                f"{booking.most_hops}. Choose another."
            )
        return (
            f"No chain of edges leads from {publisher} to {advertiser} in at most "
            f"{booking.most_hops}. Allow more, or ask a graph operator to connect the two."
        )
    if finding.kind == Kind.BROKEN_PATH:
        return f"Nothing passes while {named or 'an edge'} is switched off."
    if finding.kind == Kind.CONTRADICTION:
        return f"No visit can satisfy both the campaign and {named}: it is never eligible."
    if finding.kind == Kind.QUARANTINED:
        if named:
            return f"Nothing passes {named}: its rule no longer compiles. Its seller can mend it."
        return "The campaign's targeting no longer compiles. Edit it, or go back in its history."
    if finding.kind == Kind.OLDER_FORM:
        return (
            "The campaign's targeting no longer compiles, so it serves as it was before. "
            "Edit it, or go back in its history."
        )
    if finding.kind == Kind.CYCLE:
        round_trip = [parties[pk].name for pk in finding.party_ids if pk in parties]
        circle = " → ".join([*round_trip, *round_trip[:1]])
        return f"Paths may go in a circle: {circle}. It costs fees and gains nothing."
    return (
        f"None of the visits at {publisher} in the last {DAYS} days was eligible. "
        "Try one of them to see why."
    )


def write_conditions(
    finding: BookingFinding, edges: dict[int, Edge], reader: User
) -> Iterable[tuple[str, str]]:
    for edge_id, text in finding.conditions:
        if edge_id is None:
            yield "the campaign", sight(reader, finding.booking.campaign).redact(text)
        elif edge_id in edges:
            yield str(edges[edge_id]), sight(reader, edges[edge_id]).redact(text)
