"""Widths and colours of a counted graph, and where shapes stand."""

from __future__ import annotations

from datetime import date

import pytest

from exchange.layout import lay_out
from exchange.reading.graph import Node, Sale
from exchange.reading.matrix import Cell, Matrix
from exchange.reports.edge_counts import NOT_COUNTED, EdgeCount, EdgeCounts
from exchange.web.graph.matrix import draw_matrix, list_pairs
from exchange.web.graph.picture import (
    PLAIN_WIDTH,
    WIDEST,
    Content,
    Picture,
    draw_picture,
    make_links,
)
from exchange.web.graph.pictures import name_columns
from exchange.web.graph.rates import rate_class, short

DAY = date(2026, 11, 17)
# Herald (1) -> Northgate (2) -> Southgate (3) -> two advertisers; Northgate has one of its own.
SALES = (Sale(11, 1, 2), Sale(12, 2, 3))
FOLDS = {2: (21,), 3: (31, 32)}
NODES = {
    1: Node("Daily Herald", "publisher"),
    2: Node("Northgate", "intermediary"),
    3: Node("A party with a name that no box is wide enough for", "intermediary"),
}
COUNTS = EdgeCounts(
    DAY,
    {
        11: EdgeCount(1_000, 960),
        12: EdgeCount(960, 120, 40),
        21: EdgeCount(960, 500),
        31: EdgeCount(120, 100),
        32: EdgeCount(120, 20),
    },
)


def draw(counts: EdgeCounts) -> Picture:
    bands = frozenset({3})
    drawing = lay_out(make_links(SALES, FOLDS, bands, counts), first=frozenset({1}))
    content = Content(
        drawing=drawing,
        nodes=NODES,
        folds=FOLDS,
        bands=bands,
        counts=counts,
        visits={1: 19_210},
        titles=name_columns(len(drawing.columns)),
        more={},
    )
    return draw_picture(content)


def test_width_is_what_passes_and_colour_the_share_of_it() -> None:
    lines = {line.edge_id: line for line in draw(COUNTS).lines}
    assert (lines[11].width, lines[11].css) == (WIDEST, "p4")
    assert (lines[12].width, lines[12].css) == (1.5, "p0")
    assert lines[None].css == "p2"  # the advertisers of Northgate


def test_not_counted_is_drawn_plain() -> None:
    picture = draw(NOT_COUNTED)
    assert not picture.is_counted
    assert {(line.width, line.css) for line in picture.lines} == {(PLAIN_WIDTH, "plain")}


def test_exceptions_lie_above_everything_else() -> None:
    assert draw(COUNTS).lines[-1].css == "p0"


def test_advertisers_hang_at_a_seller_that_sells_to_nobody_else() -> None:
    boxes = {box.node: box for column in draw(COUNTS).columns for box in column.boxes}
    band = boxes[3].band
    assert band is not None
    assert (band.label, band.css) == ("2 advertisers", "p2")  # 120 of 240
    assert boxes[2].band is None
    assert boxes[-2].is_fold
    assert boxes[-2].label == "1 advertiser"


def test_long_names_are_cut_and_said_in_full() -> None:
    boxes = {box.node: box for column in draw(COUNTS).columns for box in column.boxes}
    assert boxes[3].label.endswith("…")
    assert boxes[3].said.startswith(NODES[3].name)
    assert boxes[1].said == "Daily Herald, 19,210 visits"


def test_everything_stands_within_the_picture() -> None:
    picture = draw(COUNTS)
    for column in picture.columns:
        for box in column.boxes:
            assert 0 <= box.left < box.left + box.width <= picture.width
            assert 0 <= box.top < box.top + box.height <= picture.height


@pytest.mark.parametrize(
    ("passed", "css"),
    [(95, "p4"), (94, "p3"), (75, "p3"), (74, "p2"), (50, "p2"), (49, "p1"), (20, "p1"), (0, "p0")],
)
def test_pass_rates_are_five_steps(passed: int, css: str) -> None:
    assert rate_class(EdgeCount(100, passed)) == css


def test_nothing_judged_and_nothing_counted_are_no_rates() -> None:
    assert rate_class(EdgeCount(0, 0)) == "none"
    assert rate_class(None) == "plain"
    assert COUNTS.sum([99]) is None


def test_large_numbers_are_short() -> None:
    assert [short(number) for number in (999, 19_210, 4_310_000)] == ["999", "19.2k", "4.3M"]


def test_columns_are_named_by_what_the_exchange_knows() -> None:
    assert name_columns(1) == ["Publishers"]
    assert name_columns(3) == ["Publishers", "First intermediaries", "Last intermediaries"]
    assert len(name_columns(12)) == 12


def test_a_matrix_never_rounds_to_all_or_nothing() -> None:
    cells = {
        (1, 3): Cell(2, EdgeCount(100_000, 99_999)),
        (1, 4): Cell(1, EdgeCount(100_000, 3)),
        (2, 3): Cell(7, None),
    }
    matrix = Matrix([(1, "A"), (2, "B")], [(3, "C"), (4, "D")], cells, 10, 3, is_counted=True)
    assert [square.text for square in draw_matrix(matrix).squares] == ["99", "1", "7"]
    assert [(pair.seller, pair.buyer) for pair in list_pairs(matrix)] == [
        ("A", "D"),
        ("A", "C"),
        ("B", "C"),
    ]
