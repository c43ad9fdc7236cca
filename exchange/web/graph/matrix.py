"""Draws a matrix as squares of an SVG: each says its pass rate, or how many edges it stands for
while visits are not counted yet."""

from __future__ import annotations

from dataclasses import dataclass

from exchange.reading.matrix import Cell, Matrix
from exchange.web.graph.rates import rate_class

SIZE = 21
SIDE = 150  # for sellers' names, at the left
TOP = 118  # for buyers' names, aslant above
LETTERS = 24


@dataclass(frozen=True, slots=True)
class Square:
    x: int
    y: int
    css: str
    text: str
    said: str

    @property
    def text_x(self) -> int:
        return self.x + SIZE // 2

    @property
    def text_y(self) -> int:
        return self.y + 14


@dataclass(frozen=True, slots=True)
class Label:
    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class MatrixPicture:
    width: int
    height: int
    squares: list[Square]
    sellers: list[Label]
    buyers: list[Label]
    size: int = SIZE - 1


def draw_matrix(matrix: Matrix) -> MatrixPicture:
    rows = {pk: place for place, (pk, _) in enumerate(matrix.sellers)}
    columns = {pk: place for place, (pk, _) in enumerate(matrix.buyers)}
    names = dict(matrix.sellers) | dict(matrix.buyers)
    squares = [
        make_square(cell, columns[buyer], rows[seller], f"{names[seller]} to {names[buyer]}")
        for (seller, buyer), cell in matrix.cells.items()
    ]
    return MatrixPicture(
        width=SIDE + SIZE * len(columns) + 70,
        height=TOP + SIZE * len(rows) + 4,
        squares=sorted(squares, key=lambda square: (square.y, square.x)),
        sellers=[
            Label(SIDE - 8, TOP + SIZE * row + 14, cut(names[pk])) for pk, row in rows.items()
        ],
        buyers=[
            Label(SIDE + SIZE * at + 12, TOP - 8, cut(names[pk])) for pk, at in columns.items()
        ],
    )


def make_square(cell: Cell, column: int, row: int, ends: str) -> Square:
    count = cell.count
    edges = f"{cell.edge_count:,} edge{'s' * (cell.edge_count != 1)}"
    if count is None or count.percent is None:
        text, said = str(cell.edge_count), f"{ends}: {edges}, visits not counted yet"
    else:
        text = f"{min(max(count.percent, 1 if count.passed else 0), 99 if count.lost else 100):.0f}"
        said = f"{ends}: {count.passed:,} of {count.judged:,} visits pass, {edges}"
    return Square(SIDE + SIZE * column, TOP + SIZE * row, rate_class(count), text, said)


@dataclass(frozen=True, slots=True)
class Pair:
    """A square, as a row of the table."""

    seller: str
    buyer: str
    cell: Cell

    @property
    def css(self) -> str:
        return rate_class(self.cell.count)


def list_pairs(matrix: Matrix) -> list[Pair]:
    """Lists pairs: those that lose most visits first, or have most edges if nothing is counted."""
    names = dict(matrix.sellers) | dict(matrix.buyers)
    pairs = [
        Pair(names[seller], names[buyer], cell) for (seller, buyer), cell in matrix.cells.items()
    ]
    return sorted(
        pairs,
        key=lambda pair: (
            -(pair.cell.count.lost if pair.cell.count else 0),
            -pair.cell.edge_count,
            pair.seller,
            pair.buyer,
        ),
    )


def cut(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1].rstrip()}…"
