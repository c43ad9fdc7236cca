"""Checks again what a change may have given trouble, or freed of it, soon after it was saved.

Read from the table of changes, so edits by whatever hand count; a sweep every some seconds takes
many edits as one, one sweep at a time. Errs on the side of checking: a booking is looked at again
if a path of its own could lead over a changed edge. What is too much waits for the night.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from exchange.findings import services
from exchange.findings.models import BookingFinding, CheckedUpTo
from exchange.findings.services import check_some, judged
from exchange.market.models import Booking, Edge
from exchange.market.querysets import BookingQuerySet
from exchange.snapshots.changes import Changes, read_changes
from exchange.snapshots.market import one_moment
from exchange.snapshots.models import ChangeKind, Quarantined, SnapshotBuild

CHECKED_SOON = 2_000  # bookings; the newest go first
EDGES_APART = 30  # more are looked at as one: all their sellers, all their buyers
# The key of the lock: any number that nothing else in this database locks.
SWEEP_LOCK = 7_301_004
Kind = BookingFinding.Kind
Ends = tuple[int, int]
FOUND = BookingFinding.objects.filter(booking=OuterRef("pk"))


def check_changed() -> int:
    """Checks what changed; says how many bookings that was. The position moves after the check: one
    that was cut off is made again by the next sweep, and finds the same."""
    with only_sweep() as is_alone:
        if not is_alone:
            return 0
        before = CheckedUpTo.objects.first()
        if before is None:
            begin()
            return 0
        touched, position = read_touched(before.position)
        check_some(booking_ids=touched.booking_ids)
        touched.note_blocked()
        moved = {"position": position} if position != before.position else {}
        CheckedUpTo.objects.filter(pk=before.pk).update(swept_at=timezone.now(), **moved)
        return len(touched.booking_ids)


@contextmanager
def only_sweep() -> Iterator[bool]:
    """Keeps other sweeps out; gives False while another one is at it. Locks for the session, over
    several transactions; the lock ends with the process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [SWEEP_LOCK])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        if is_alone and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [SWEEP_LOCK])


def begin() -> None:
    """Records where to begin: at first there is nothing to compare with."""
    with one_moment() as position:
        pass
    CheckedUpTo.objects.create(pk=1, position=position)


@dataclass(frozen=True, slots=True)
class Touched:
    """What changes touch: bookings to check, and campaigns whose bookings came, went or changed;
    `are_many`: too many to name."""

    booking_ids: list[int]
    campaign_ids: list[int]
    are_many: bool = False

    def note_blocked(self) -> None:
        if self.are_many:
            services.note_blocked()
        elif self.campaign_ids:
            services.note_blocked(self.campaign_ids)


def read_touched(since: str) -> tuple[Touched, str]:
    """Reads what changed, and the position that is reached with it: the same one if nothing did."""
    with one_moment() as position:
        changes = read_changes(since)
        ids = set(find_misjudged())
        if changes.ids:
            newest = find_touched(changes).order_by("-pk")
            ids.update(newest.values_list("pk", flat=True)[:CHECKED_SOON])
        are_many = not changes.many.isdisjoint({ChangeKind.BOOKING, ChangeKind.CAMPAIGN})
        touched = Touched(
            sorted(ids, reverse=True)[:CHECKED_SOON], find_campaigns(changes), are_many
        )
        return touched, position if changes else since


def find_campaigns(changes: Changes) -> list[int]:
    """Finds the campaigns that changed and those of bookings that did."""
    bookings = Booking.objects.filter(pk__in=sorted(changes.ids.get(ChangeKind.BOOKING, ())))
    campaign_ids = set(bookings.order_by().values_list("campaign_id", flat=True))
    return sorted(campaign_ids | changes.ids.get(ChangeKind.CAMPAIGN, set()))


def find_misjudged() -> list[int]:
    """Finds bookings whose campaign was quarantined, or freed of it, since they were checked.
    Builds and deltas say so, whatever the change was that they read."""
    rows = Quarantined.objects.filter(kind=ChangeKind.CAMPAIGN).order_by()
    misjudged: list[int] = []
    for kind, has_good_form in ((Kind.QUARANTINED, False), (Kind.OLDER_FORM, True)):
        campaigns = rows.filter(has_good_form=has_good_form).values_list("object_id", flat=True)
        concerned = Q(campaign_id__in=list(campaigns))
        said = BookingFinding.objects.filter(kind=kind, edge_ids=[], booking=OuterRef("pk"))
        unsaid = judged().filter(concerned, ~Exists(said))
        outdated = Booking.objects.filter(~concerned, Exists(said))
        for found in (unsaid, outdated):
            misjudged += found.values_list("pk", flat=True)
    return misjudged


def check_night() -> int:
    """Checks all bookings; says how many findings there are. It reads the graph once and may take
    long: what changed meanwhile is looked at again, though a sweep may have been there before."""
    with one_moment() as position:
        pass
    count = services.check_all()
    touched, _ = read_touched(position)
    check_some(booking_ids=touched.booking_ids)
    touched.note_blocked()
    now = timezone.now()
    CheckedUpTo.objects.update_or_create(
        pk=1,
        defaults={"all_checked_at": now, "swept_at": now},
        create_defaults={"all_checked_at": now, "swept_at": now, "position": position},
    )
    return count


def is_first_due() -> bool:
    """Says so once, with the first build: before, there is nothing that could be wrong for
    anybody."""
    if not SnapshotBuild.objects.filter(status=SnapshotBuild.Status.LIVE).exists():
        return False
    waiting = CheckedUpTo.objects.filter(all_checked_at=None, first_asked_at=None)
    return waiting.update(first_asked_at=timezone.now()) == 1


def last_checked() -> datetime | None:
    """Says when all that may be wrong was last looked for; None: not yet."""
    row = CheckedUpTo.objects.exclude(all_checked_at=None).first()
    return None if row is None else row.swept_at


def find_touched(changes: Changes) -> BookingQuerySet:
    """Finds bookings that changed, whose campaign did, or that changed edges may serve."""
    ids = changes.ids
    edge_ids = sorted(ids.get(ChangeKind.EDGE, ()))
    changed = Q(pk__in=sorted(ids.get(ChangeKind.BOOKING, ())))
    changed |= Q(campaign_id__in=sorted(ids.get(ChangeKind.CAMPAIGN, ())))
    # Includes stopped bookings: what was found about them is forgotten.
    touched = changed & (Exists(FOUND) | Q(pk__in=judged().order_by().values("pk")))
    if edge_ids:
        over = Q(pinned_edges__overlap=edge_ids)
        over |= ~Q(policy=Booking.Policy.PINNED) & over_edges(find_ends(edge_ids, changes.former))
        touched |= over & Q(pk__in=judged().order_by().values("pk"))
    return Booking.objects.order_by().filter(touched)


def find_ends(
    edge_ids: Iterable[int],
    former: Mapping[tuple[ChangeKind, int], Mapping[str, Any] | None],
) -> set[Ends]:
    """Finds seller and buyer of each edge, as they are and as they were."""
    rows = (former.get((ChangeKind.EDGE, edge_id)) for edge_id in edge_ids)
    before = {(row["seller_id"], row["buyer_id"]) for row in rows if row is not None}
    now = Edge.objects.filter(pk__in=edge_ids).order_by()
    return before | set(now.values_list("seller_id", "buyer_id"))


def over_edges(ends: set[Ends]) -> Q:
    """Builds a condition: publishers before the seller, advertisers behind the buyer."""
    kept = list(Edge.objects.kept().order_by().values_list("seller_id", "buyer_id"))
    if len(ends) > EDGES_APART:
        groups = [({seller for seller, _ in ends}, {buyer for _, buyer in ends})]
    else:
        groups = [({seller}, {buyer}) for seller, buyer in sorted(ends)]
    forward, backward = lead(kept), lead((buyer, seller) for seller, buyer in kept)
    return reduce(
        or_,
        (
            Q(publisher_id__in=follow(backward, sellers), advertiser_id__in=follow(forward, buyers))
            for sellers, buyers in groups
        ),
    )


def lead(ends: Iterable[Ends]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for start, end in ends:
        found[start].add(end)
    return found


def follow(steps: Mapping[int, set[int]], starts: set[int]) -> set[int]:
    """Finds the parties themselves and all that they lead to."""
    found, waiting = set(starts), list(starts)
    while waiting:
        for party_id in steps.get(waiting.pop(), set()) - found:
            found.add(party_id)
            waiting.append(party_id)
    return found
