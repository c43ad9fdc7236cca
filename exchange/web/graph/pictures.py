"""Makes the pictures: of a graph that is small enough, and of a party's surroundings."""

from __future__ import annotations

from exchange.accounts.models import User
from exchange.layout import Spacing, lay_out
from exchange.market.models import Party
from exchange.reading.around import Around
from exchange.reading.graph import Trunk, read_seen_counts
from exchange.reports.queries import Selection, last_reported_days
from exchange.web.graph.picture import Content, Picture, draw_picture, make_links

AROUND_TITLES = ("Two hops before", "Sells to it", "This party", "Buys from it", "Two hops behind")
ORDINALS = ("First", "Second", "Third", "Fourth", "Fifth")
AROUND_SPACING = Spacing(least=22, node_gap=6)


def picture_trunk(person: User, trunk: Trunk) -> Picture | None:
    """Draws the trunk; None if there is nothing to draw."""
    if not trunk.nodes:
        return None
    counts = read_seen_counts(person)
    sellers = {sale.seller_id for sale in trunk.sales}
    buyers = {sale.buyer_id for sale in trunk.sales}
    bands = frozenset(pk for pk in trunk.folds if pk in buyers and pk not in sellers)
    publishers = (pk for pk, node in trunk.nodes.items() if node.kind == Party.Kind.PUBLISHER)
    links = make_links(trunk.sales, trunk.folds, bands, counts)
    drawing = lay_out(links, first=frozenset(publishers))
    content = Content(
        drawing=drawing,
        nodes=trunk.nodes,
        folds=trunk.folds,
        bands=bands,
        counts=counts,
        visits=read_visits(person),
        titles=name_columns(len(drawing.columns)),
        more={},
    )
    return draw_picture(content)


def picture_around(person: User, around: Around) -> Picture:
    links = make_links(around.sales, around.folds, frozenset(), around.counts)
    ranks = dict(around.ranks)
    ranks |= {-seller: ranks[seller] + 1 for seller in around.folds}
    first = min(ranks.values())
    columns = {node: rank - first for node, rank in ranks.items()}
    more = {rank - first: count for rank, count in around.more.items()}
    drawing = lay_out(links, ranks=columns, spacing=AROUND_SPACING)
    content = Content(
        drawing=drawing,
        nodes=around.nodes,
        folds=around.folds,
        bands=frozenset(),
        counts=around.counts,
        visits=read_visits(person),
        titles=AROUND_TITLES[first:],
        more=more,
        here=around.party.pk,
    )
    return draw_picture(content)


def name_columns(count: int) -> list[str]:
    """Writes titles; the database knows publishers, intermediaries, and no finer words."""
    inner = [*ORDINALS, *("Further" for _ in range(count))][: max(0, count - 2)]
    titles = ["Publishers", *(f"{ordinal} intermediaries" for ordinal in inner)]
    return [*titles, "Last intermediaries"][:count]


def read_visits(person: User) -> dict[int, int]:
    """Reads visits of publishers on the last day that was counted."""
    days = last_reported_days()
    if days is None:
        return {}
    rows = Selection(days[1], days[1], person).visits().order_by()
    return dict(rows.values_list("publisher_id", "visits"))
