"""Says which rows are whose: what a role can do something about, in the order of what it looks
for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from exchange.accounts.models import Role, User
from exchange.findings.changed import last_checked
from exchange.web.today.chores import (
    tell_cycles,
    tell_ended,
    tell_keys,
    tell_silent,
    tell_tests,
    tell_unbooked,
)
from exchange.web.today.losing import (
    tell_build,
    tell_falls,
    tell_parity,
    tell_questions,
    tell_report,
    tell_troubles,
)
from exchange.web.today.matters import Matter

Teller = Callable[[User], Iterator[Matter]]


@dataclass(frozen=True, slots=True)
class Home:
    losing: tuple[Teller, ...]
    chores: tuple[Teller, ...]


@dataclass(frozen=True, slots=True)
class Today:
    """A person's rows. `checked_at`: when bookings were last looked through for what blocks them;
    None: not yet."""

    losing: list[Matter]
    chores: list[Matter]
    checked_at: datetime | None
    most_visits: int

    @property
    def is_calm(self) -> bool:
        """Tells whether nothing is there; only what was looked for can be said not to be."""
        return self.checked_at is not None and not self.losing and not self.chores


HOMES = {
    Role.CAMPAIGN_MANAGER: Home(
        (tell_troubles, tell_falls), (tell_tests, tell_ended, tell_unbooked, tell_silent)
    ),
    Role.GRAPH_OPERATOR: Home(
        (tell_build, tell_parity, tell_questions, tell_troubles, tell_falls),
        (tell_cycles, tell_silent),
    ),
    Role.ANALYST: Home((tell_parity, tell_report, tell_falls, tell_troubles), (tell_silent,)),
    Role.VIEWER: Home((tell_troubles, tell_falls), (tell_cycles, tell_ended)),
    Role.ADMIN: Home(
        (tell_build, tell_parity, tell_report, tell_questions, tell_troubles, tell_falls),
        (tell_keys, tell_tests, tell_ended, tell_unbooked, tell_silent, tell_cycles),
    ),
}
# People who trade: what is theirs, whatever their role. Builds and reports are the exchange's.
TRADERS = Home(
    (tell_questions, tell_troubles, tell_falls),
    (tell_tests, tell_ended, tell_unbooked, tell_silent, tell_keys),
)


def read_today(person: User, *, is_trader: bool) -> Today:
    home = TRADERS if is_trader else HOMES[Role(person.role)]
    losing = sorted(tell_all(home.losing, person), key=by_stake)
    chores = list(tell_all(home.chores, person))
    most = max((matter.visits or 0 for matter in losing), default=0)
    return Today(losing, chores, last_checked(), most)


def tell_all(tellers: Iterable[Teller], person: User) -> Iterator[Matter]:
    for teller in tellers:
        yield from teller(person)


def by_stake(matter: Matter) -> tuple[bool, int]:
    """Orders rows: urgent ones without known visits (a failed build) first, then by visits."""
    return not (matter.is_urgent and matter.visits is None), -(matter.visits or 0)
