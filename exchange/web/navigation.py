"""Lists the pages of the menu, in groups, and chooses those that are of interest to a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exchange.accounts.ownership import Person
from exchange.accounts.permissions import may_edit
from exchange.kinds import KINDS, KindName
from exchange.market.models import Party
from exchange.market.visibility import kinds_of


@dataclass(frozen=True, slots=True)
class Item:
    """A page of the navigation; `folder` is the first part of the addresses below it. One that
    `needs` a right is shown only to those who have it; one that is `of` some kinds of party, to the
    exchange's operators and to organisations that are one of them."""

    label: str
    url_name: str
    icon: str
    folder: str
    needs: KindName | None = None
    of: frozenset[Party.Kind] = frozenset(Party.Kind)


ENDS = frozenset({Party.Kind.PUBLISHER, Party.Kind.ADVERTISER})
ADVERTISERS = frozenset({Party.Kind.ADVERTISER})


def list_of(name: KindName, icon: str = "", **limits: Any) -> Item:
    """Makes the item of a kind's list; by default its icon is called as its addresses begin."""
    kind = KINDS[name]
    return Item(kind.label, kind.url_name("list"), icon or kind.folder, kind.folder, **limits)


GROUPS = {
    "Work": [
        Item("Today", "dashboard", "dashboard", ""),
        list_of("campaign", of=ADVERTISERS),
        list_of("booking", of=ENDS),
    ],
    "Market": [
        Item("Graph", "graph", "graph", "graph"),
        list_of("edge"),
        list_of("party"),
    ],
    "Library": [
        list_of("audience"),
        list_of("value_list"),
        list_of("attribute"),
    ],
    "Check": [
        Item("Findings", "finding-list", "findings", "findings", of=ENDS),
        Item("Try a visit", "try-visit", "visit", "visits", of=ENDS),
        Item("Reports", "report-catalogue", "reports", "reports", of=ENDS),
    ],
    "System": [
        Item("Snapshots", "snapshot-list", "snapshots", "snapshots", of=ADVERTISERS),
        list_of("api_key", icon="keys", needs="api_key"),
        list_of("person", needs="person"),
    ],
}


def groups_for(user: Person) -> list[tuple[str, list[Item]]]:
    """Leaves out a group of which nothing is of interest."""
    kinds = kinds_of(user)
    chosen = [
        (title, [item for item in items if fits(item, user, kinds)])
        for title, items in GROUPS.items()
    ]
    return [(title, items) for title, items in chosen if items]


def items_for(user: Person) -> list[Item]:
    return [item for _, items in groups_for(user) for item in items]


def fits(item: Item, user: Person, kinds: frozenset[str]) -> bool:
    is_of_interest = not kinds or not item.of.isdisjoint(kinds)
    return is_of_interest and (item.needs is None or may_edit(user, item.needs))
