"""What holds for every layered drawing, whatever the graph."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from exchange.layout import Drawing, Link, Spacing, draw, lay_out
from exchange.layout.columns import count_crossings
from exchange.layout.ranks import CYCLES_APART, find_back_links, rank_nodes

SPACING = Spacing()
SLIP = 1e-6  # of sums of floating-point numbers


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Link, ...]:
    nodes = draw(st.integers(2, 12))
    ends = st.tuples(st.integers(1, nodes), st.integers(1, nodes)).filter(lambda e: e[0] != e[1])
    pairs = draw(st.lists(ends, min_size=1, max_size=40, unique=True))
    widths = st.sampled_from([1.0, 1.2, 2.5, 5.0])
    return tuple(Link(n, start, end, draw(widths)) for n, (start, end) in enumerate(pairs, 1))


@given(graphs())
def test_every_link_runs_from_left_to_right_unless_it_is_an_arc(links: tuple[Link, ...]) -> None:
    drawing = lay_out(links)
    slots = drawing.slot_of()
    for lane in drawing.lanes:
        assert [slot.column for slot in lane.slots] == list(
            range(slots[lane.link.start].column, slots[lane.link.end].column + 1)
        )
        assert len(lane.slots) > 1
    drawn = [lane.link for lane in drawing.lanes] + [arc.link for arc in drawing.arcs]
    assert sorted(link.number for link in drawn) == [link.number for link in links]


@given(graphs())
def test_arcs_are_exactly_the_links_inside_cycles(links: tuple[Link, ...]) -> None:
    """Shows also that no cycle is left without those that close one."""
    drawing = lay_out(links)
    ways = {(link.start, link.end) for link in links}
    for _ in range(12):
        ways |= {(a, d) for a, b in ways for c, d in ways if b == c}
    inside = {link.number for link in links if (link.end, link.start) in ways}
    assert {arc.link.number for arc in drawing.arcs} == inside
    closing = {arc.link.number for arc in drawing.arcs if arc.closes}
    left = tuple(link for link in links if link.number not in closing)
    assert find_back_links(left) == {}


@given(graphs())
def test_nothing_overlaps_in_a_column(links: tuple[Link, ...]) -> None:
    drawing = lay_out(links)
    for column in drawing.columns:
        for upper, lower in pairwise(column):
            bottom = drawing.middles[upper] + drawing.sizes[upper] / 2
            top = drawing.middles[lower] - drawing.sizes[lower] / 2
            assert bottom <= top + SLIP
        for slot in column:
            assert drawing.middles[slot] - drawing.sizes[slot] / 2 >= -SLIP
            assert drawing.middles[slot] + drawing.sizes[slot] / 2 <= drawing.height + SLIP


@given(graphs())
def test_lanes_begin_and_end_on_their_nodes(links: tuple[Link, ...]) -> None:
    drawing = lay_out(links)
    for lane in drawing.lanes:
        for slot, y in ((lane.slots[0], lane.heights[0]), (lane.slots[-1], lane.heights[-1])):
            away = abs(y - drawing.middles[slot]) + lane.link.width / 2
            assert away <= drawing.sizes[slot] / 2 + SLIP
        assert len(lane.heights) == 2 * len(lane.slots) - 2


@given(graphs(), st.sets(st.integers(1, 12)))
def test_only_the_first_stand_in_the_first_column(
    links: tuple[Link, ...], chosen: set[int]
) -> None:
    begins = {link.start for link in links} - {link.end for link in links}
    first = frozenset(chosen & begins)
    if not first:
        return
    drawing = lay_out(links, first=first)
    assert {slot.node for slot in drawing.columns[0]} == first


@given(graphs())
def test_draws_the_same_again(links: tuple[Link, ...]) -> None:
    given = lay_out(links)
    draw.cache_clear()
    assert lay_out(links) == given


def test_draws_the_same_whatever_the_seed_of_hashes() -> None:
    """Shows that nothing follows the order of a set: the page's picture would be another one every
    day."""
    program = (
        "from exchange.layout import Link, lay_out\n"
        "ends = [(n * 7 % 31, n * 11 % 37 + 3) for n in range(1, 200)]\n"
        "pairs = [pair for pair in dict.fromkeys(ends) if pair[0] != pair[1]]\n"
        "links = [Link(n, a, b, 1 + n % 4) for n, (a, b) in enumerate(pairs)]\n"
        "print(lay_out(tuple(links), first=frozenset([0, 7])))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert "Drawing" in told.pop()


def test_the_narrowest_link_closes_a_cycle_and_says_its_size() -> None:
    links = (Link(1, 1, 2, 5), Link(2, 2, 3, 1), Link(3, 3, 1, 5), Link(4, 3, 4, 1))
    assert find_back_links(links) == {2: 3}


def test_a_knot_with_very_many_cycles_is_cut_all_the_same() -> None:
    nodes = range(1, 20)
    ends = [(a, b) for a in nodes for b in nodes if a != b]
    links = tuple(Link(number, a, b) for number, (a, b) in enumerate(ends, 1))
    closing = find_back_links(links)
    assert len(closing) > CYCLES_APART
    assert find_back_links(tuple(link for link in links if link.number not in closing)) == {}


def test_who_sells_late_stands_just_before_its_buyers() -> None:
    """Has a seller, 5, who is sold nothing but is no publisher: it does not stand among them."""
    links = (Link(1, 1, 2), Link(2, 2, 3), Link(3, 3, 4), Link(4, 5, 4))
    assert rank_nodes(links, frozenset({1})) == {1: 0, 2: 1, 3: 2, 4: 3, 5: 2}


def test_long_links_of_a_node_share_one_bend_in_a_column() -> None:
    links = (Link(1, 1, 2), Link(2, 2, 3), Link(3, 3, 4), Link(4, 1, 3), Link(5, 1, 4))
    drawing = lay_out(links)
    bends = [slot for column in drawing.columns for slot in column if slot.is_bend]
    assert [(slot.column, slot.node) for slot in bends] == [(1, 1), (2, 1)]


def test_sweeps_untie_what_need_not_cross() -> None:
    """Gives each seller one buyer, and lets all of them sell to one more."""
    links = tuple(Link(n, n, 20 - n) for n in (4, 1, 3, 2)) + tuple(
        Link(10 + n, 20 - n, 30) for n in (1, 2, 3, 4)
    )
    assert crossings_of(lay_out(links)) == 0


def crossings_of(drawing: Drawing) -> int:
    steps = [step for lane in drawing.lanes for step in pairwise(lane.slots)]
    return count_crossings([list(column) for column in drawing.columns], steps)


def test_a_given_rank_is_kept() -> None:
    drawing = lay_out((Link(1, 1, 2), Link(2, 2, 3)), ranks={1: 0, 2: 2, 3: 3, 9: 1})
    assert {slot.node: slot.column for slot in drawing.slot_of().values()} == {
        1: 0,
        2: 2,
        3: 3,
        9: 1,
    }


def test_no_links_are_an_empty_drawing() -> None:
    assert lay_out(()) == Drawing((), {}, {}, (), (), 0.0)
