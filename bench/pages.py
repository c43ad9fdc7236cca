"""Measures every page of a large exchange, for each kind of reader: its time, and its queries.

The exchange has a million bookings over 57,000 edges, in a Postgres of its own (`large_market`).
The application runs in this process behind Django's client, with all its middleware and templates.
Times are processor time of this process and of the connection's process in Postgres, added up: what
a page takes on a quiet machine, also where others are at work. "first" is the first view after
somebody changed the graph, by SQL from elsewhere; the median is of the views after it. `--folder`
names where the exchange is kept for the next run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.large_market import large_market

if TYPE_CHECKING:
    from django.test import Client

    from bench.page_questions import Question

VIEWS = 4
LIMIT_MS = 200
# The readers as the table calls them, and their logins in the demo.
READERS = {
    "operator": "admin",
    "advertiser": "advertiser",
    "publisher": "publisher",
    "analyst": "analyst",
}
# Refusals are answers as well: a reader who may not open a page is told so.
ANSWERS = (200, 403, 404, 503)
CHANGE_GRAPH = """
    UPDATE market_edge SET fee_percent = CASE fee_percent WHEN 7.01 THEN 7.02 ELSE 7.01 END
    WHERE id = (SELECT max(id) FROM market_edge)
"""


@dataclass(frozen=True, slots=True)
class Measured:
    question: Question
    reader: str
    status: int
    first_ms: float
    median_ms: float
    queries: int

    @property
    def worst_ms(self) -> float:
        return max(self.first_ms, self.median_ms)


class QueryCount:
    """Counts the queries of a block."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Any, *rest: Any) -> Any:
        self.count += 1
        return execute(*rest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kept = Path(tempfile.gettempdir()) / "treeline-pages"
    parser.add_argument("--folder", type=Path, default=kept)
    parser.add_argument("--only", default="", help="names of pages that begin like this")
    options = parser.parse_args()
    with large_market(options.folder):
        tell(measure(options.only))


def measure(only: str = "") -> Iterator[Measured]:
    from django.test import Client

    from bench.addresses import ask_all
    from exchange.accounts.models import User

    key = make_key()
    with connected_elsewhere() as change_graph:
        for reader, login in READERS.items():
            person = User.objects.select_related("organisation").get(username=login)
            client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Api-Key {key}"})
            client.force_login(person)
            for question in ask_all(person):
                if question.name.startswith(only):
                    yield ask(question, reader, client, change_graph)


def ask(
    question: Question, reader: str, client: Client, change_graph: Callable[[], None]
) -> Measured:
    """Measures one question; asks it once before, so that all is loaded that a process loads once,
    templates above all."""
    send(question, client)
    change_graph()
    times = []
    for _ in range(VIEWS):
        started = read_clock()
        status, queries = send(question, client)
        times.append(1_000 * (read_clock() - started))
    return Measured(question, reader, status, times[0], median(times[1:] or times), queries)


def read_clock() -> float:
    """Adds up the processor seconds of both processes, to the nanosecond."""
    from django.db import connection

    connection.ensure_connection()
    backend = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text()
    return time.process_time() + int(backend.split()[0]) / 1e9


def send(question: Question, client: Client) -> tuple[int, int]:
    from django.db import connection

    counted = QueryCount()
    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(counted))
        response = post(question, client) if question.data else client.get(question.address)
        if response.streaming:
            next(iter(response), b"")  # the download begins
        response.close()
    if response.status_code not in ANSWERS:
        raise SystemExit(f"{question.address} answered {response.status_code}")
    return response.status_code, counted.count


def post(question: Question, client: Client) -> Any:
    if question.is_json:
        return client.post(
            question.address,
            json.dumps(question.data),
            content_type="application/json",
        )
    return client.post(question.address, question.data, headers={"HX-Request": "true"})


def make_key() -> str:
    """Makes a key for explanations, which ad servers ask for."""
    from exchange.accounts.models import Organisation
    from exchange.keys.models import Scope
    from exchange.keys.services import create_api_key
    from exchange.market.models import Party
    from exchange.snapshots.keys import publish_keys

    _, key = create_api_key(
        name="Pages",
        organisation=Organisation.objects.get(is_operator=True),
        publishers=list(Party.objects.publishers()),
        scopes=[Scope.EXPLAIN_READ],
    )
    publish_keys()
    return key


@contextmanager
def connected_elsewhere() -> Iterator[Callable[[], None]]:
    """Gives what changes the graph from another connection, as another process would."""
    import psycopg2
    from django.db import connection

    parameters = connection.get_connection_params()
    chosen = {k: v for k, v in parameters.items() if k in CONNECTION}
    with closing(psycopg2.connect(**chosen)) as other:
        other.autocommit = True
        cursor = other.cursor()
        yield lambda: cursor.execute(CHANGE_GRAPH)


CONNECTION = ("dbname", "user", "password", "host", "port")


def tell(measured: Iterable[Measured]) -> None:
    rows = list(measured)
    print("# Pages of a large exchange\n")
    print(describe_market(), end="\n\n")
    print(
        "Milliseconds of processor time, the first view after a change of the graph / the median of"
        f" {VIEWS - 1} views after it,\neach the slowest of all objects and searches that were"
        " tried; the most queries of a view.\n"
    )
    print(f"| page | {' | '.join(READERS)} | queries | tried |\n|---|{'---|' * (len(READERS) + 2)}")
    by_name: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        by_name[row.question.name].append(row)
    for name, found in by_name.items():
        cells = [tell_cell([row for row in found if row.reader == reader]) for reader in READERS]
        queries = max(row.queries for row in found)
        print(f"| {name} | {' | '.join(cells)} | {queries} | {len(found)} |")
    tell_slow(rows)


def tell_cell(rows: list[Measured]) -> str:
    seen = [row for row in rows if row.status == 200] or rows
    if not seen:
        return ""
    first, later = max(row.first_ms for row in seen), max(row.median_ms for row in seen)
    said = f"{first:,.0f} / {later:,.0f}"
    return said if seen[0].status == 200 else f"{said} ({seen[0].status})"


def tell_slow(rows: list[Measured]) -> None:
    slow = sorted((row for row in rows if row.worst_ms > LIMIT_MS), key=lambda row: -row.worst_ms)
    print(f"\n{len(rows):,} questions; above {LIMIT_MS} ms: {len(slow) or 'none'}.")
    for row in slow:
        print(
            f"- {row.question.name} {row.question.what}, {row.reader}: first"
            f" {row.first_ms:,.0f}, median {row.median_ms:,.0f}, {row.queries} queries"
        )


def describe_market() -> str:
    from exchange.market.models import Booking, Campaign, Edge, Party
    from exchange.reports.models import EligibleVisits

    counts = {
        "parties": Party.objects.count(),
        "edges": Edge.objects.count(),
        "campaigns": Campaign.objects.count(),
        "bookings": Booking.objects.count(),
        "rows of reported visits": EligibleVisits.objects.count(),
    }
    return ", ".join(f"{count:,} {word}" for word, count in counts.items()) + "."


if __name__ == "__main__":
    main()
