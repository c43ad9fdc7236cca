"""Goes on after a restore: a database that came from a dump counts its transactions anew.

Moments that the tables remember (`snapshots.changes`) are named by the numbers of the old server's
transactions. In a new one they lie in the future: what was noted before the dump would be written
as a change for ever, and what is saved now never. So they are forgotten, and a build reads the
market anew; it is the next moment that everything goes on from.
"""

from __future__ import annotations

from django.db import transaction

from exchange.findings.models import CheckedUpTo
from exchange.snapshots.models import Change, SnapshotBuild


@transaction.atomic
def forget_moments() -> int:
    """Forgets all moments; says how many noted changes there were. No build of before can be gone
    back to afterwards."""
    count, _ = Change.objects.all().delete()
    SnapshotBuild.objects.exclude(position="").update(position="")
    CheckedUpTo.objects.all().delete()
    return count
