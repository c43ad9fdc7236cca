"""Bodies of eligibility requests by chance: of a grammar, of real ones changed, of damaged bytes.

Trees are written to text here and not by `json`, because most of what is tried no encoder writes:
names that stand there twice, numbers at every edge, half of a surrogate pair, comments.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.serving.fuzzed_words import (
    BLANKS,
    MEMBERS,
    NAMES,
    NO_BLANKS,
    NO_NUMBERS,
    NUMBERS,
    OPENRTB,
    PIECES,
    TEXTS,
)

MOST_DAMAGED = 20_000  # bytes


@dataclass(slots=True)
class Object:
    """In which a name may stand several times."""

    members: list[tuple[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


def as_tree(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Object([(name, as_tree(each)) for name, each in value.items()])
    if isinstance(value, list | tuple):
        return [as_tree(each) for each in value]
    return value


class Bodies:
    """Draws them; `types` are those of the catalogue's attributes, `visits` and `bid_requests` real
    ones to begin with."""

    def __init__(
        self,
        seed: int,
        types: Mapping[str, str],
        visits: Sequence[Mapping[str, Any]],
        bid_requests: Sequence[Mapping[str, Any]],
        publishers: Sequence[str],
        campaigns: Sequence[int],
    ) -> None:
        self.chance = random.Random(seed)
        self.types = types
        self.names = sorted(types)
        self.visits, self.bid_requests = visits, bid_requests
        self.publishers, self.campaigns = publishers, campaigns
        said = [*list_texts(list(visits[:50])), *list_texts(list(bid_requests[:50]))]
        self.texts = sorted({*TEXTS, *said})

    def draw(self) -> Iterator[bytes]:
        """Draws a request, and some that are nearly the same."""
        body = self.write(self.draw_request()).encode("utf-8", "surrogatepass")
        yield body
        for _ in range(self.chance.choice((0, 1, 2)) if len(body) < MOST_DAMAGED else 0):
            yield self.damage(body)

    def draw_batch(self) -> bytes:
        chance = self.chance
        requests = [self.draw_request() for _ in range(chance.choice((1, 1, 2, 3, 5)))]
        if chance.random() < 0.2:
            requests.insert(chance.randrange(len(requests) + 1), self.draw_value(2))
        members = [("requests", requests)]
        if chance.random() < 0.05:
            members.append((chance.choice(("requests", "other")), self.draw_value(1)))
        body = self.write(Object(members)).encode("utf-8", "surrogatepass")
        return self.damage(body) if chance.random() < 0.1 else body

    def draw_request(self) -> Object:
        chance = self.chance
        if chance.random() < 0.55:
            members = [("visit", self.draw_visit())]
        else:
            members = [("bid_request", self.draw_bid_request())]
        members.append(("publisher", self.draw_publisher()))
        if chance.random() < 0.1:
            members.pop()
        for _ in range(chance.choice((0, 0, 1, 2))):
            members.append(self.draw_option())
        chance.shuffle(members)
        return Object(members)

    def draw_publisher(self) -> Any:
        is_usual = self.chance.random() < 0.95
        return self.chance.choice(self.publishers) if is_usual else self.draw_value(1)

    def draw_option(self) -> tuple[str, Any]:
        chance = self.chance
        if chance.random() < 0.08:
            return chance.choice(MEMBERS), self.draw_value(2)
        name = chance.choice(("limit", "campaigns", "order", "paths"))
        if name == "limit":
            return name, chance.choice((1, 2, 3, 5, 63, 64, 65, 100, 10_000, 10_001, 0, -1, None))
        if name == "campaigns":
            drawn = chance.choices(self.campaigns, k=chance.choice((0, 1, 3, 20)))
            return name, [*drawn, self.draw_number()] if chance.random() < 0.1 else drawn
        choices = ("net_cpm", "id") if name == "order" else ("cheapest", "none")
        return name, chance.choice(choices) if chance.random() < 0.95 else self.draw_value(1)

    def draw_visit(self) -> Object:
        chance = self.chance
        is_real = self.visits and chance.random() < 0.7
        visit: Object = as_tree(chance.choice(self.visits)) if is_real else Object()
        if is_real and chance.random() < 0.5:
            chance.shuffle(visit.members)
        for _ in range(chance.choice((0, 1, 1, 2, 3, 8) if is_real else (0, 2, 5, 20))):
            self._change_visit(visit)
        return visit

    def _change_visit(self, visit: Object) -> None:
        """Adds a name that is new, or a second time there, flat or in objects."""
        chance = self.chance
        members = visit.members
        kind = chance.random()
        if members and kind < 0.15:
            members.pop(chance.randrange(len(members)))
        elif members and kind < 0.25:
            place = chance.randrange(len(members))
            members[place] = nest(*members[place], chance.randrange(3))
        elif members and kind < 0.32:
            name, value = chance.choice(members)
            if isinstance(value, Object) or chance.random() < 0.3:
                value = self.draw_value(2)
            members.insert(
                chance.randrange(len(members) + 1), nest(name, value, chance.randrange(2))
            )
        elif kind < 0.4:
            members.append((self.draw_name(), self.draw_value(3)))
        else:
            name = chance.choice(self.names)
            member = nest(name, self.draw_typed(self.types[name]), chance.choice((0, 0, 0, 1, 2)))
            members.insert(chance.randrange(len(members) + 1), member)

    def draw_name(self) -> str:
        chance = self.chance
        name = chance.choice(
            (chance.choice(NAMES), chance.choice(self.names), chance.choice(self.texts))
        )
        return (
            name + chance.choice(("", "", ".x", "x", "\u0301")) if chance.random() < 0.5 else name
        )

    def draw_typed(self, kind: str) -> Any:
        chance = self.chance
        if chance.random() < 0.15:
            return self.draw_value(3)
        if kind.endswith(" set"):
            one = "string" if kind == "string set" else "integer"
            count = chance.choice((0, 1, 2, 3, 8, 40))
            return [self.draw_typed(one) for _ in range(count)]
        if kind == "boolean":
            return chance.choice((True, False, None))
        if kind in ("integer", "float"):
            return self.draw_number() if chance.random() < 0.5 else chance.randrange(-5, 120)
        if kind == "geo":
            return self._draw_position()
        if kind.startswith("timestamp"):
            return chance.choice((self.draw_number(), chance.choice(TEXTS), 1_790_000_000_000))
        return chance.choice(self.texts)

    def _draw_position(self) -> Any:
        chance = self.chance
        pair = [
            Literal(f"{chance.uniform(-95, 95):.{chance.randrange(8)}f}")
            if chance.random() < 0.8
            else self.draw_value(1)
            for _ in range(chance.choice((2, 2, 2, 1, 3)))
        ]
        if chance.random() < 0.5:
            return pair
        members = list(zip(("lat", "lon", "lat"), pair, strict=False))
        if chance.random() < 0.2:
            members.append((chance.choice(("lat", "lon", "x", "latitude")), self.draw_value(1)))
        return Object(members)

    def draw_number(self) -> Literal:
        chance = self.chance
        kind = chance.random()
        if kind < 0.6:
            return Literal(chance.choice(NUMBERS))
        if kind < 0.602:
            return Literal(chance.choice(NO_NUMBERS))
        if kind < 0.8:
            return Literal(repr(chance.uniform(-1, 1) * 10 ** chance.randrange(-20, 25)))
        return Literal(str(chance.randrange(-(2**65), 2**65) >> chance.randrange(66)))

    def draw_value(self, deep: int) -> Any:
        chance = self.chance
        kind = chance.random()
        if deep <= 0 or kind < 0.6:
            return chance.choice(
                (
                    self.draw_number(),
                    chance.choice(self.texts),
                    True,
                    False,
                    None,
                    self.draw_number(),
                )
            )
        if kind < 0.8:
            return [self.draw_value(deep - 1) for _ in range(chance.choice((0, 1, 2, 4)))]
        if kind < 0.81:
            return Literal("[" * chance.choice((30, 60, 61, 62, 63, 64, 70)))
        if kind < 0.812:
            count = chance.choice((63, 64, 9_999, 10_000, 10_001))
            return [chance.choice((1, "a", chance.random()))] * count
        members = chance.choice((0, 1, 2, 3))
        names = (*OPENRTB, *NAMES, *self.names)
        return Object([(chance.choice(names), self.draw_value(deep - 1)) for _ in range(members)])

    def draw_bid_request(self) -> Object:
        chance = self.chance
        request: Object = as_tree(chance.choice(self.bid_requests))
        if chance.random() < 0.03:
            multiply_imps(request, chance.choice((2, 5, 24, 25, 26, 60, 100, 101)))
        for _ in range(chance.choice((0, 1, 1, 2, 3, 6, 12))):
            self._change_bid_request(request)
        return request

    def _choose_place(self, node: Any) -> tuple[Any, int | None]:
        """Chooses a container in a tree, and a place in it; None where there is none."""
        chance = self.chance
        while size := len(node.members if isinstance(node, Object) else node):
            at = chance.randrange(size)
            below = node.members[at][1] if isinstance(node, Object) else node[at]
            if not isinstance(below, Object | list) or chance.random() < 0.15:
                return node, at
            node = below
        return node, None

    def _change_bid_request(self, request: Object) -> None:
        chance = self.chance
        node, at = self._choose_place(request)
        if at is None:
            return
        if isinstance(node, list):
            value = node[at]
            node[at] = chance.choice((self.draw_value(2), [value], [[value]], value, None))
            if chance.random() < 0.2:
                node.insert(at, chance.choice((value, self.draw_value(2))))
            return
        name, value = node.members[at]
        kind = chance.random()
        if kind < 0.35:
            node.members[at] = name, self.draw_value(2)
        elif kind < 0.45:
            node.members.pop(at)
        elif kind < 0.55:
            node.members[at] = (
                name,
                chance.choice(([value], [value, value], [None, value], [[value]])),
            )
        elif kind < 0.65:
            node.members[at] = "ext", Object([(name, value)])
        elif kind < 0.8:
            node.members.append((name, self.draw_value(2)))
        else:
            node.members.append((chance.choice(OPENRTB), self.draw_value(3)))

    def write(self, node: Any) -> str:
        """Writes some with blanks wherever they may stand, some with nothing but ASCII."""
        pieces: list[str] = []
        blanks = BLANKS if self.chance.random() < 0.2 else NO_BLANKS
        quote = self._escape if self.chance.random() < 0.3 else quote_plain
        self._write(node, pieces, blanks, quote)
        return "".join(pieces)

    def _write(
        self, node: Any, pieces: list[str], blanks: Sequence[str], quote: Callable[[str], str]
    ) -> None:
        kind = type(node)
        blank = self.chance.choice(blanks) if blanks else ""
        if kind is Object:
            separator = "{"
            for name, value in node.members:
                pieces += (separator, blank, quote(name), blank, ":", blank)
                self._write(value, pieces, blanks, quote)
                separator = ","
            pieces += ("{" if separator == "{" else "", blank, "}", blank)
        elif kind is list:
            separator = "["
            for value in node:
                pieces += (separator, blank)
                self._write(value, pieces, blanks, quote)
                separator = ","
            pieces += ("[" if separator == "[" else "", blank, "]", blank)
        elif kind is str:
            pieces.append(quote(node))
        elif kind is Literal:
            pieces.append(node.text + "]" * node.text.count("["))
        else:
            pieces.append(json.dumps(node))

    def _escape(self, text: str) -> str:
        if self.chance.random() < 0.9:
            return json.dumps(text)
        units = text.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
        write = self.chance.choice((str.upper, str))
        return '"' + "".join("\\u" + write(unit) for unit in units) + '"'

    def damage(self, body: bytes) -> bytes:
        chance = self.chance
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            at = chance.randrange(len(body) + 1)
            kind = chance.random()
            if kind < 0.2:
                body = body[:at]
            elif kind < 0.6:
                body = (
                    body[:at] + chance.choice(PIECES) + body[at + chance.choice((0, 0, 1, 2, 5)) :]
                )
            elif kind < 0.75 and body:
                at %= len(body)
                body = body[:at] + bytes([body[at] ^ 1 << chance.randrange(8)]) + body[at + 1 :]
            elif kind < 0.9:
                end = at + chance.randrange(60)
                body = body[:end] + body[at:]
            else:
                body = body[:at] + body[at + chance.randrange(200) :]
        return body


@cache
def quote_plain(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def list_texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping | list):
        for value in node.values() if isinstance(node, Mapping) else node:
            yield from list_texts(value)


def nest(name: str, value: Any, times: int) -> tuple[str, Any]:
    """Writes `geo.country` as `geo` with an object in it, as far as the name has dots."""
    first, dot, rest = name.partition(".")
    if not times or not dot:
        return name, value
    return first, Object([nest(rest, value, times - 1)])


def multiply_imps(request: Object, count: int) -> None:
    for name, imps in request.members:
        if name == "imp" and isinstance(imps, list) and imps:
            while len(imps) < count:
                imps.append(imps[-1])
            del imps[count:]
