"""Draws boxes, lines, arcs and bands: from the layout's columns to coordinates of an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.urls import reverse

from exchange.layout import Arc, Drawing, Lane, Link, Slot
from exchange.reading.graph import Node, Sale
from exchange.reports.edge_counts import EdgeCount, EdgeCounts
from exchange.web.graph.rates import EXCEPTIONS, rate_class, short

WIDTH = 1010
TOP = 34
LETTER = 6.2  # of the labels, on average
BOLD = 1.12  # so much wider
PADDING = 7
BOX_WIDTHS = (84, 150)
LEAST_GAP = 56
ARC_GAP = 40  # beside a column with a cycle, for its arcs
BAND = 20
FOLD_WIDTH = 108  # beside the last column: the band and its label
TWO_LINES = 27
PLAIN_WIDTH = 1.2
WIDEST = 5.0
MORE_HEIGHT = 30


@dataclass(frozen=True, slots=True)
class Line:
    """A trunk edge, or the edges to the advertisers that a seller's box folds (`edge_id` None)."""

    edge_id: int | None
    start: int
    end: int
    css: str
    width: float
    d: str


@dataclass(frozen=True, slots=True)
class CycleLabel:
    x: float
    y: float
    size: int


@dataclass(frozen=True, slots=True)
class Band:
    """The advertisers of a seller who sells to nobody else: they hang at its box."""

    d: str
    css: str
    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Box:
    """A party, or (`is_fold`) the advertisers of one seller."""

    node: int
    rank: int
    left: float
    top: float
    width: float
    height: float
    label: str
    note: str
    said: str
    url: str
    is_fold: bool
    is_here: bool
    band: Band | None

    @property
    def has_two_lines(self) -> bool:
        return bool(self.note) and self.height >= TWO_LINES

    @property
    def text_x(self) -> float:
        return self.left + PADDING

    @property
    def middle(self) -> float:
        return self.top + self.height / 2

    @property
    def text_y(self) -> float:
        return round(self.middle - 2 if self.has_two_lines else self.middle + 4, 1)

    @property
    def note_y(self) -> float:
        return round(self.middle + 10, 1)


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    left: float
    width: float
    boxes: list[Box]
    more: int

    @property
    def more_x(self) -> float:
        return self.left + PADDING


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing. `is_counted`: widths and colours say something."""

    width: float
    height: float
    columns: list[Column]
    lines: list[Line]
    labels: list[CycleLabel]
    fold_x: float | None
    more_y: float
    is_counted: bool

    @property
    def top(self) -> int:
        return TOP

    @property
    def more_text_y(self) -> float:
        return self.more_y + 15

    @property
    def box_count(self) -> int:
        return sum(len(column.boxes) for column in self.columns)


@dataclass(frozen=True, slots=True)
class Content:
    """What a picture is drawn from. `bands` are those of `folds` that hang at their seller's box;
    the others are boxes of their own, whose node is the seller's number below zero. `visits` are
    those of publishers on `day`."""

    drawing: Drawing
    nodes: Mapping[int, Node]
    folds: Mapping[int, tuple[int, ...]]
    bands: frozenset[int]
    counts: EdgeCounts
    visits: Mapping[int, int]
    titles: Sequence[str]
    more: Mapping[int, int]
    here: int | None = None


def make_links(
    sales: Sequence[Sale],
    folds: Mapping[int, tuple[int, ...]],
    bands: frozenset[int],
    counts: EdgeCounts,
) -> tuple[Link, ...]:
    """Makes links, those with most visits first, so that they begin at the top."""
    trunk = {sale.edge_id: counts.of(sale.edge_id) for sale in sales}
    most = max((count.passed for count in trunk.values() if count), default=0)
    ordered = sorted(sales, key=lambda sale: -(passed_of(trunk[sale.edge_id])))
    links = [
        Link(sale.edge_id, sale.seller_id, sale.buyer_id, line_width(trunk[sale.edge_id], most))
        for sale in ordered
    ]
    links += [
        Link(-seller, seller, -seller, line_width(counts.sum(ids), most))
        for seller, ids in folds.items()
        if seller not in bands
    ]
    return tuple(links)


def passed_of(count: EdgeCount | None) -> int:
    return count.passed if count else 0


def line_width(count: EdgeCount | None, most: int) -> float:
    if count is None or not most:
        return PLAIN_WIDTH
    return round(1 + (WIDEST - 1) * min(1.0, count.passed / most), 1)


def draw_picture(content: Content) -> Picture:
    drawing = content.drawing
    has_bands = bool(content.bands)
    lefts, widths, width = place_columns(content, FOLD_WIDTH if has_bands else 0)
    columns = [
        Column(
            content.titles[rank],
            lefts[rank],
            widths[rank],
            [make_box(content, slot, lefts[rank], widths[rank]) for slot in slots if is_node(slot)],
            content.more.get(rank, 0),
        )
        for rank, slots in enumerate(drawing.columns)
    ]
    lines = [make_lane(content, lane, lefts, widths) for lane in drawing.lanes]
    arcs, labels = make_arcs(content, lefts, widths)
    bottom = MORE_HEIGHT if content.more else 0
    return Picture(
        width=width,
        height=round(drawing.height + TOP + 6 + bottom),
        columns=columns,
        lines=sorted(lines, key=drawing_order) + arcs,
        labels=labels,
        fold_x=lefts[-1] + widths[-1] + BAND + 6 if has_bands else None,
        more_y=round(drawing.height + 8),
        is_counted=content.counts.day is not None,
    )


def is_node(slot: Slot) -> bool:
    return not slot.is_bend


def drawing_order(line: Line) -> tuple[bool, float]:
    """Orders lines: narrow ones are not covered by wide ones; exceptions lie above everything."""
    return line.css in EXCEPTIONS, -line.width


def place_columns(content: Content, beside: int) -> tuple[list[float], list[float], float]:
    """Finds left edges, widths, and the width of all: columns share what labels leave free."""
    widths: list[float] = []
    for slots in content.drawing.columns:
        nodes = [slot.node for slot in slots if is_node(slot)]
        longest = max((len(name_of(content, node)) for node in nodes), default=0)
        letter = LETTER * BOLD if content.here in nodes else LETTER
        widths.append(round(min(max(longest * letter + 2 * PADDING, BOX_WIDTHS[0]), BOX_WIDTHS[1])))
    standing = content.drawing.slot_of()
    arcs = {standing[arc.link.start].column for arc in content.drawing.arcs}
    extra = [ARC_GAP if rank in arcs else 0 for rank in range(len(widths))]
    free = WIDTH - 2 - beside - sum(widths) - sum(extra)
    gap = max(LEAST_GAP, free / max(1, len(widths) - 1))
    lefts: list[float] = []
    at = right = 0.0
    for width, more in zip(widths, extra, strict=True):
        lefts.append(round(at))
        right = at + width + more
        at = right + gap
    return lefts, widths, round(max(WIDTH, right + beside + 2))


def name_of(content: Content, node: int) -> str:
    if node < 0:
        return tell_advertisers(len(content.folds[-node]))
    return content.nodes[node].name


def tell_advertisers(count: int) -> str:
    return f"{count:,} advertiser{'s' * (count != 1)}"


def make_box(content: Content, slot: Slot, left: float, width: float) -> Box:
    drawing, name = content.drawing, name_of(content, slot.node)
    height = drawing.sizes[slot]
    top = drawing.middles[slot] - height / 2
    letters = int((width - 2 * PADDING) / LETTER) + 1
    visits = content.visits.get(slot.node)
    band = make_band(content, slot.node, left + width, top, height)
    said = [name]
    if visits is not None:
        said.append(f"{visits:,} visits")
    if band:
        said.append(f"sells to {band.label}")
    if slot.node < 0:
        said.append(f"that {content.nodes[-slot.node].name} sells to")
    return Box(
        node=slot.node,
        rank=slot.column,
        left=left,
        top=round(top, 1),
        width=width,
        height=round(height, 1),
        label=name if len(name) <= letters else f"{name[: letters - 1].rstrip()}…",
        note="" if visits is None else short(visits),
        said=", ".join(said),
        url=reverse("graph-party", args=[abs(slot.node)]),
        is_fold=slot.node < 0,
        is_here=slot.node == content.here,
        band=band,
    )


def make_band(content: Content, node: int, x: float, top: float, height: float) -> Band | None:
    if node not in content.bands:
        return None
    ids, middle = content.folds[node], top + height / 2
    d = (
        f"M{x:.0f} {top + 1:.1f}L{x + BAND:.0f} {middle - 4:.1f}"
        f"V{middle + 4:.1f}L{x:.0f} {top + height - 1:.1f}z"
    )
    css = rate_class(content.counts.sum(ids))
    return Band(d, css, x + BAND + 6, round(middle + 4, 1), tell_advertisers(len(ids)))


def make_lane(
    content: Content, lane: Lane, lefts: Sequence[float], widths: Sequence[float]
) -> Line:
    """Draws a line out of the seller, straight through the bends' columns, into the buyer."""
    parts = []
    for number, (one, other) in enumerate(pairwise(lane.slots)):
        x0, x1 = lefts[one.column] + widths[one.column], lefts[other.column]
        y0, y1 = lane.heights[2 * number], lane.heights[2 * number + 1]
        turn = (x0 + x1) / 2
        parts.append(
            f"{'L' if number else 'M'}{x0:.0f} {y0:.1f}"
            f"C{turn:.0f} {y0:.1f} {turn:.0f} {y1:.1f} {x1:.0f} {y1:.1f}"
        )
    return make_line(content, lane.link, "", "".join(parts))


def make_line(content: Content, link: Link, more: str, d: str) -> Line:
    is_edge = link.number > 0
    count = (
        content.counts.of(link.number) if is_edge else content.counts.sum(content.folds[link.start])
    )
    return Line(
        edge_id=link.number if is_edge else None,
        start=link.start,
        end=link.end,
        css=f"{rate_class(count)}{more}",
        width=link.width,
        d=d,
    )


def make_arcs(
    content: Content, lefts: Sequence[float], widths: Sequence[float]
) -> tuple[list[Line], list[CycleLabel]]:
    """Draws arcs beside the column of their cycle, those that close one last and in red."""
    lines: list[Line] = []
    labels: list[CycleLabel] = []
    for arc, x, reach, (y0, y1) in place_arcs(content, lefts, widths):
        out = f"{x + reach:.0f}"
        d = f"M{x:.0f} {y0 + 3:.1f}C{out} {y0:.1f} {out} {y1:.1f} {x + 2:.0f} {y1 - 3:.1f}"
        lines.append(make_line(content, arc.link, " arc back" if arc.closes else " arc", d))
        if arc.closes:
            labels.append(CycleLabel(round(x + 0.75 * reach + 5), round((y0 + y1) / 2), arc.closes))
    return lines, labels


def place_arcs(
    content: Content, lefts: Sequence[float], widths: Sequence[float]
) -> Iterator[tuple[Arc, float, float, tuple[float, float]]]:
    slots, middles = content.drawing.slot_of(), content.drawing.middles
    in_order = sorted(content.drawing.arcs, key=lambda arc: (arc.closes > 0, arc.link.number))
    for number, arc in enumerate(in_order):
        start, end = slots[arc.link.start], slots[arc.link.end]
        x = lefts[start.column] + widths[start.column]
        reach = 20 + 12 * min(number, 3)
        yield arc, x, reach, (middles[start], middles[end])
