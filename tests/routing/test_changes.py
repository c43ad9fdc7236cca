"""Which pairs a change of edges moves: the same as asking all of them again."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import Graph, Link, Path, affected_pairs
from tests.routing.graphs import Drawn, diamonds, graphs, ladders


def all_paths(graph: Graph, parties: dict[int, str]) -> dict[tuple[int, int], Path | None]:
    reached = {source: graph.cheapest_paths(source) for source in parties}
    return {
        (source, target): reached[source].get(target)
        for source in parties
        for target in parties
        if source != target
    }


@st.composite
def changes(draw: st.DrawFn) -> tuple[Drawn, list[Link]]:
    """Some edges go, some come, some are dearer or cheaper."""
    links, names = draw(graphs() | ladders() | diamonds())
    fee = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2)])
    party = st.sampled_from(sorted(names))
    kept = list(links)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(kept)))
        if place == len(kept):
            kept.append(Link(1000 + len(kept), draw(party), draw(party), draw(fee)))
        elif draw(st.booleans()):
            old = kept[place]
            kept[place] = Link(old.edge_id, old.seller_id, old.buyer_id, draw(fee))
        else:
            del kept[place]
    return (links, names), kept


@given(changes())
@settings(max_examples=300, deadline=None)
def test_finds_what_asking_every_pair_again_would_find(drawn: tuple[Drawn, list[Link]]) -> None:
    (links, names), changed = drawn
    before, after = Graph(links, names), Graph(changed, names)
    old, new = all_paths(before, names), all_paths(after, names)
    assert affected_pairs(before, after, old) == {
        pair: path for pair, path in new.items() if path != old[pair]
    }


def test_asks_only_about_publishers_that_reach_the_edge() -> None:
    """Two exchanges side by side: a cheaper edge in the first is no news to the second."""
    links = [Link(10 * p + hop, 10 * p + hop, 10 * p + hop + 1, Fraction(1, 10)) for p in (1, 2)
             for hop in range(3)]  # fmt: skip
    before = Graph(links)
    after = Graph([Link(11, 11, 12, Fraction(0)), *(link for link in links if link.edge_id != 11)])
    in_use = {(p, p + 3): before.cheapest_paths(p)[p + 3] for p in (10, 20)}
    with patch.object(after, "cheapest_paths", wraps=after.cheapest_paths) as asked:
        assert list(affected_pairs(before, after, in_use)) == [(10, 13)]
    assert [call.args for call in asked.call_args_list] == [(10,)]


def test_a_dearer_edge_that_no_path_takes_is_no_news() -> None:
    links = [Link(1, 0, 1, Fraction(1, 10)), Link(2, 0, 1, Fraction(1, 5))]
    before, after = Graph(links), Graph([links[0], Link(2, 0, 1, Fraction(1, 2))])
    with patch.object(after, "cheapest_paths") as asked:
        assert affected_pairs(before, after, {(0, 1): before.cheapest_paths(0)[1]}) == {}
    asked.assert_not_called()
