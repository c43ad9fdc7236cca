"""What a saved campaign reaches, and what it would without some of its conditions: the figures of
the live impact (`impact`), condition by condition and publisher by publisher.

A condition is named by its place among those that must all be met.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign
from exchange.reading.impact import LEAST_PEOPLE, Gate, Reached, is_about_persons, measure
from exchange.reading.reach import Reach
from exchange.reading.sampled_market import Places
from targeting import Expression
from targeting.disabling import disable
from targeting.printer import print_line, print_tree
from targeting.prose import phrase_alone
from targeting.tree import And


@dataclass(frozen=True, slots=True)
class Part:
    """A condition. `gain` is what leaving it out as well would add, in visits a day; 0 of what is
    left out already, or limits nothing by itself."""

    place: int
    words: str
    text: str
    is_out: bool
    gain: float


@dataclass(frozen=True, slots=True)
class AtPublisher:
    """A booking, with the visits a day that come there and what the campaign gets of them."""

    booking: Booking
    came: float
    reach: Reach

    @property
    def percent(self) -> float | None:
        """Gives how much is eligible of what comes there."""
        if self.reach.eligible is None or not self.came:
            return None
        return 100 * self.reach.eligible / self.came


@dataclass(frozen=True, slots=True)
class CampaignImpact:
    """`reached` is None if no night was counted yet. Parts have what limits most first, publishers
    those with the most eligible visits."""

    reached: Reached | None
    parts: tuple[Part, ...]
    publishers: tuple[AtPublisher, ...]

    @property
    def left_out(self) -> list[int]:
        return sorted(part.place for part in self.parts if part.is_out)


def read_impact(campaign: Campaign, left_out: Collection[int] = ()) -> CampaignImpact:
    """Raises `ExpressionError` if the targeting no longer compiles. Places that it does not have
    are passed over, and so are all if nothing would be left. The campaign comes with its
    advertiser."""
    saved = read_targeting(campaign)
    out = choose_places(saved, left_out)
    shown = without(saved, out) if out else saved
    reached = measure(shown, campaign)
    return CampaignImpact(
        reached, tuple(list_parts(saved, out, reached)), tuple(list_publishers(shown, reached))
    )


def write_without(campaign: Campaign, left_out: Collection[int]) -> str:
    """Writes the targeting with these conditions disabled, to go on with in the editor. Raises as
    `read_impact` does."""
    saved = read_targeting(campaign)
    out = choose_places(saved, left_out)
    return print_tree(without(saved, out).root) if out else campaign.expression


def read_targeting(campaign: Campaign) -> Expression:
    reader = ExpressionReader(load_catalog())
    return reader.read(campaign.expression, campaign.advertiser.organisation_id)


def choose_places(saved: Expression, asked: Collection[int]) -> frozenset[int]:
    """Chooses which conditions to leave out; one stays, for nothing is not everyone."""
    count = len(saved.root.children) if isinstance(saved.root, And) else 0
    chosen = frozenset(place for place in asked if 0 <= place < count)
    return chosen if len(chosen) < count else frozenset()


def without(saved: Expression, out: Collection[int]) -> Expression:
    root = saved.root
    left = disable(root, out) if isinstance(root, And) else root
    return Expression(left, saved.catalog, definitions=saved.definitions, lists=saved.lists)


def list_parts(saved: Expression, out: frozenset[int], reached: Reached | None) -> list[Part]:
    root = saved.root
    children = root.children if isinstance(root, And) else (root,)
    kept = [place for place in range(len(children)) if place not in out]
    limits = reached.limits if reached else ()
    gains = {kept[int(limit.path.removeprefix("and."))]: limit.gain for limit in limits}
    parts = [
        Part(
            place,
            phrase_alone(child, saved.catalog),
            print_line(child, is_root=True),
            place in out,
            gains.get(place, 0),
        )
        for place, child in enumerate(children)
    ]
    return sorted(parts, key=lambda part: (not part.is_out, -part.gain))


def list_publishers(shown: Expression, reached: Reached | None) -> list[AtPublisher]:
    if reached is None or reached.gate is None:
        return []
    gate, least = reached.gate, LEAST_PEOPLE if is_about_persons(shown) else 0
    found = []
    for booking, places, opened in gate.bookings:
        is_wanted = reached.matched[places]
        wanted = tell(places[is_wanted], gate, least)
        eligible = tell(places[is_wanted & opened], gate, least)
        came = gate.market.visits(places)
        found.append(AtPublisher(booking, came, Reach(wanted, eligible)))
    return sorted(found, key=lambda one: (-(one.reach.eligible or 0), one.booking.publisher.name))


def tell(places: Places, gate: Gate, least: int) -> float | None:
    """Counts visits a day; gives None of fewer people than are told."""
    if least and gate.market.people(places) < least:
        return None
    return gate.market.visits(places)
