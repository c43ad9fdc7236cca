"""Measures every operator of the language, 100,000 expressions each: `python -m bench operators`.

There is one line per kind of predicate, for the index beside the compiled scan of the same
expressions. In a line's expressions the kind's own predicate is the only rare one:

    <predicate of the kind> and device in ('phone', 'desktop', 'tablet')

A predicate that is true of nearly every visit (`not ..`) stands beside an equality on one of 2,000
cities instead. Names of kinds may follow `python -m bench.operators`.
"""

from __future__ import annotations

import random
import statistics
import string
import sys
from collections.abc import Callable, Iterable
from typing import Any

from bench.rounds import microseconds, timed
from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from targeting import Catalog

EXPRESSIONS = 100_000
VISITS = 200
TRAINING_VISITS = 100
SECONDS = 1.5
CATALOG = Catalog.of(
    **{
        "device": "string",
        "city": "string",
        "host": "string",
        "url": "string",
        "age": "integer",
        "price": "float",
        "time": "timestamp",
        "seen": "timestamp local",
        "geo.utc_offset": "integer",
        "segments": "string set",
        "numbers": "integer set",
        "address": "ip",
        "place": "geo",
    }
)
DEVICES = ("phone", "desktop", "tablet", "ctv")
CITIES = [f"city{number}" for number in range(2000)]
SEGMENTS = [f"seg{number}" for number in range(20_000)]
NUMBERS = range(20_000)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MS = 86_400_000
FIRST_MS = 1_760_000_000_000
WEEKS = 52
RARE, COMMON = "city = '{}'", "device in ('phone', 'desktop', 'tablet')"

Draw = random.Random


def write_word(draw: Draw, least: int, most: int) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(least, most)))


WORDS = [write_word(Draw(number), 3, 9) for number in range(20_000)]


def draw_host(draw: Draw) -> str:
    return f"{draw.choice(WORDS)}.{draw.choice(('com', 'net', 'org', 'co.uk'))}"


HOSTS = [draw_host(Draw(number)) for number in range(50_000)]


def draw_url(draw: Draw) -> str:
    parts = "/".join(draw.choice(WORDS) for _ in range(draw.randint(2, 5)))
    return f"https://{draw.choice(HOSTS)}/{parts}.html"


def draw_address(draw: Draw) -> str:
    if draw.random() < 0.3:
        return f"2001:db8:{draw.randrange(4096):x}:{draw.randrange(65536):x}::1"
    return ".".join(str(draw.randrange(1, 224)) for _ in range(4))


def draw_place(draw: Draw) -> tuple[float, float]:
    return round(draw.uniform(-60, 70), 4), round(draw.uniform(-179, 179), 4)


def listed(draw: Draw, values: Any, least: int, most: int) -> str:
    chosen = draw.sample(values, draw.randint(least, most))
    return "(" + ", ".join(f"'{v}'" if isinstance(v, str) else str(v) for v in chosen) + ")"


def write_network(draw: Draw) -> str:
    if draw.random() < 0.3:
        return f"2001:db8:{draw.randrange(4096):x}:{draw.randrange(65536):x}::/64"
    length = draw.choice((12, 16, 20, 22, 24, 24, 24, 28, 32))
    number = draw.randrange(1 << 24, 224 << 24) >> (32 - length) << (32 - length)
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{length}"


def write_square(draw: Draw) -> str:
    (lat, lon), size = draw_place(draw), draw.uniform(0.05, 1.0)
    corners = ((lat, lon), (lat, lon + size), (lat + size, lon + size), (lat + size, lon))
    return ", ".join(f"({a:.4f}, {b:.4f})" for a, b in corners)


def write_schedule(draw: Draw) -> str:
    start, end = draw.randrange(0, 23 * 60), draw.randrange(5, 55)
    end = min(start + end, 24 * 60)
    clock = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    return f"'{draw.choice(DAYS)} {clock}'"


def write_time(draw: Draw) -> str:
    moment = FIRST_MS + draw.randrange(WEEKS * 7 * DAY_MS)
    return str(moment)


def write_between(draw: Draw, most_width: int) -> str:
    low = draw.randrange(1_000_000)
    return f"age between {low} and {low + draw.randrange(1, most_width)}"


def write_mixed_between(draw: Draw) -> str:
    """Writes intervals as people do: mostly narrow, some wide."""
    return write_between(draw, draw.choice((10, 100, 100, 1000, 1000, 10_000, 500_000)))


def write_like(draw: Draw) -> str:
    first, second = draw.choice(WORDS), draw.choice(WORDS)
    return draw.choice(
        (f"*/{first}*{second}.html", f"https://{first}*/{second}*", f"*{first}?{second}*")
    )


KINDS: dict[str, Callable[[Draw], str]] = {
    "=": lambda draw: f"host = '{draw.choice(HOSTS)}'",
    "in": lambda draw: f"host in {listed(draw, HOSTS, 2, 8)}",
    "<=": lambda draw: f"age <= {draw.randrange(50_000)}",
    "between, narrow": lambda draw: write_between(draw, 100),
    "between, mixed": write_mixed_between,
    "between, float": lambda draw: (
        f"price between {(low := draw.randrange(10**6)) / 1000} and "
        f"{(low + draw.choice((10, 1000, 100_000))) / 1000}"
    ),
    "during": lambda draw: f"time during {write_schedule(draw)}",
    "during, local": lambda draw: f"seen during {write_schedule(draw)}",
    "starts with": lambda draw: f"url starts with 'https://{draw.choice(HOSTS)}/'",
    "ends with": lambda draw: f"url ends with '/{draw.choice(WORDS)}.html'",
    "contains": lambda draw: f"url contains '{draw.choice(WORDS)}'",
    "like": lambda draw: f"url like '{write_like(draw)}'",
    "under": lambda draw: f"host under {listed(draw, HOSTS, 1, 3)}",
    "one of": lambda draw: f"segments one of {listed(draw, SEGMENTS, 2, 8)}",
    "all of": lambda draw: f"segments all of {listed(draw, SEGMENTS[:300], 2, 3)}",
    "all of, integers": lambda draw: f"numbers all of {listed(draw, NUMBERS[:300], 2, 3)}",
    "only of": lambda draw: f"segments only of {listed(draw, SEGMENTS[:300], 10, 20)}",
    "in network": lambda draw: f"address in network ('{write_network(draw)}')",
    "within": lambda draw: f"place within {draw.choice((1, 5, 20, 100))} km of {draw_place(draw)}",
    "inside polygon": lambda draw: f"place inside polygon ({write_square(draw)})",
    "!=": lambda draw: f"host != '{draw.choice(HOSTS)}'",
    "not in": lambda draw: f"host not in {listed(draw, HOSTS, 2, 8)}",
    "none of": lambda draw: f"segments none of {listed(draw, SEGMENTS, 2, 8)}",
    "not under": lambda draw: f"host not under {listed(draw, HOSTS, 1, 3)}",
    "not like": lambda draw: f"url not like '{write_like(draw)}'",
    "not in network": lambda draw: f"address not in network ('{write_network(draw)}')",
    "not within": lambda draw: f"place not within 20 km of {draw_place(draw)}",
}
TRUE_OF_MOST = ("!=", "not in", "none of", "not under", "not like", "not in network", "not within")
HEADINGS = ("kind", "predicates", "freeze s", "matches", "match us", "scan us", "times faster")


def draw_visit(draw: Draw) -> dict[str, Any]:
    lat, lon = draw_place(draw)
    moment = FIRST_MS + draw.randrange(WEEKS * 7 * DAY_MS)
    return {
        "device": draw.choices(DEVICES, (4, 3, 2, 1))[0],
        "city": draw.choice(CITIES),
        "host": "www." + draw.choice(HOSTS) if draw.random() < 0.5 else draw.choice(HOSTS),
        "url": draw_url(draw),
        "age": draw.randrange(1_000_000),
        "price": draw.randrange(10**6) / 1000,
        "time": moment,
        "seen": moment,
        "geo.utc_offset": 60,
        "segments": draw.sample(SEGMENTS[:300], draw.randrange(1, 20)),
        "numbers": draw.sample(NUMBERS[:300], draw.randrange(1, 20)),
        "address": draw_address(draw),
        "place": {"lat": lat, "lon": lon},
    }


def write_expressions(kind: str) -> list[str]:
    draw = Draw(kind)
    make = KINDS[kind]
    if kind in TRUE_OF_MOST:
        return [f"{make(draw)} and {RARE.format(draw.choice(CITIES))}" for _ in range(EXPRESSIONS)]
    return [f"{make(draw)} and {COMMON}" for _ in range(EXPRESSIONS)]


def freeze_kind(kind: str) -> tuple[Snapshot, float]:
    """Makes the snapshot, and tells the seconds that freezing the dynamic index took."""
    draw = Draw(2)
    index = ATree(CATALOG)
    texts = write_expressions(kind)
    index.insert_many(range(len(texts)), texts)
    index.learn_truth_rates(draw_visit(draw) for _ in range(TRAINING_VISITS))
    seconds, snapshot = timed(index.freeze)
    return snapshot, seconds


def measure(kind: str) -> None:
    draw = Draw(1)
    visits = [draw_visit(draw) for _ in range(VISITS)]
    snapshot, seconds = freeze_kind(kind)
    scan = Scan(snapshot)
    check_answers(kind, snapshot, scan, visits[:10])
    ours = statistics.median(microseconds(snapshot.match_ids, visits, SECONDS))
    theirs = statistics.median(microseconds(scan.match_ids, visits, SECONDS))
    matches = statistics.mean(len(snapshot.match_ids(visit)) for visit in visits[:50])
    cells = f"{snapshot.stats()['predicates']:,} | {seconds:.2f} | {matches:,.1f} | {ours:,.1f}"
    print(f"| {kind} | {cells} | {theirs:,.0f} | {theirs / ours:,.1f} |", flush=True)


def check_answers(kind: str, snapshot: Snapshot, scan: Scan, visits: list[dict[str, Any]]) -> None:
    for visit in visits:
        if sorted(snapshot.match_ids(visit)) != sorted(scan.match_ids(visit)):
            raise SystemExit(f"{kind}: another answer than the scan's")


def main(names: Iterable[str]) -> int:
    print(
        f"{EXPRESSIONS:,} made-up expressions of each kind, no bookings; {VISITS} different visits"
    )
    print("of 13 attributes, each matched three times in a row, of which the best counts: what it")
    print("reads is in the caches.\n")
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    for kind in list(names) or KINDS:
        measure(kind)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
