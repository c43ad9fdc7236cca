"""Asks for a build. The row is the truth; a message to a worker is only a hint."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from exchange.accounts.models import User
from exchange.announcing import announce
from exchange.snapshots.models import SnapshotBuild

Status = SnapshotBuild.Status


@transaction.atomic
def request_build(
    *, requested_by: User | None = None, attempt: int = 1, reason: str = ""
) -> SnapshotBuild:
    """Finds or makes the build that will hold every change saved before now: the waiting one if
    there is one.

    The lock on the waiting row keeps it from starting before the caller's own transaction is over,
    so a change made in that transaction cannot be missed.
    """
    while True:
        waiting = SnapshotBuild.objects.select_for_update().filter(status=Status.QUEUED).first()
        if waiting is not None:
            return waiting
        try:
            with transaction.atomic():
                build = SnapshotBuild.objects.create(
                    requested_by=requested_by, attempt=attempt, reason=reason
                )
        except IntegrityError:
            continue  # another request came first; the next look finds it
        start_on_commit(build.pk)
        return build


def start_on_commit(build_id: int) -> None:
    transaction.on_commit(lambda: announce("snapshots.build", [build_id]), robust=True)
