"""Lists of a large market: every query looks at few rows, whatever is filtered and searched.

The plans are Postgres's own (`EXPLAIN ANALYZE`) for the very queries that the pages make. The
suite uses a market in which reading a whole table would show; the soak a million campaigns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from exchange.accounts.models import Organisation, Role, User
from exchange.findings.status import Status
from exchange.market.bulk import build_indexes_last
from exchange.market.models import Party
from tests.market.places import found
from tests.people import hire

pytestmark = pytest.mark.django_db

PUBLISHERS, ADVERTISERS = 12, 120
MOST_ROWS = 12_000
COUNT_LIMIT = 200
# At the suite's size a table is read whole because that is cheap; at a million it is not.
AS_IF_LARGE = """
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off
"""
# A block in memory takes about a microsecond, a row less: 100 ms at the most.
MOST_ROWS_OF_A_MILLION, MOST_BLOCKS = 60_000, 60_000
BIG = {"market_campaign", "market_booking"}
FILL = """
ALTER TABLE market_campaign DISABLE TRIGGER USER;
ALTER TABLE market_booking DISABLE TRIGGER USER;
INSERT INTO market_campaign (advertiser_id, name, expression, uses_digest, status, starts_at,
    ends_at, bid_cpm, priority, labels, created_at, updated_at)
SELECT
    CASE WHEN n <= 3 THEN %(rare)s
        ELSE (%(advertisers)s)[1 + n %% 9973 * 7919 %% %(advertiser_count)s] END,
    (ARRAY['Trail', 'Harbour', 'Winter', 'Autumn', 'Velvet'])[1 + n %% 5] || ' '
        || (ARRAY['shoes', 'coats', 'lamps', 'bikes'])[1 + n %% 4] || ' wave ' || n
        || CASE WHEN n = 7 THEN ' Xylophone' ELSE '' END,
    aim, md5(aim),
    CASE WHEN n <= 5 THEN 'paused' WHEN n %% 13 = 0 THEN 'draft' ELSE 'live' END,
    CASE WHEN n = 11 THEN now() + interval '9 days' ELSE now() - interval '9 years' END,
    CASE WHEN n <= %(count)s / 3 AND n <> 11 THEN now() - n * interval '1 minute' END, n %% 90, 5,
    CASE WHEN n = 9 THEN ARRAY['heirloom'] WHEN n %% 3 = 0 THEN ARRAY['brand'] ELSE '{}' END,
    now(), now()
FROM generate_series(1, %(count)s) AS n, LATERAL (SELECT
    format('device.type = %%L and geo.city = %%L', 'phone',
        CASE WHEN n = 7 THEN 'Reykjavik' ELSE 'Town' || n %% 300 END) AS aim) AS aims
ORDER BY n;
INSERT INTO market_booking (campaign_id, advertiser_id, publisher_id, is_active, created_at,
    updated_at)
SELECT id, advertiser_id, (%(publishers)s)[1 + (id + step * 5) %% %(publisher_count)s],
    id %% 40 <> 0 OR (id + step * 5) %% %(publisher_count)s = 3, now(), now()
FROM market_campaign, generate_series(1, 2) AS step ORDER BY id;
INSERT INTO findings_blockedcampaign (campaign_id, kind)
SELECT id, 'no_path' FROM market_campaign WHERE id %% 997 = 0 AND status = 'live';
INSERT INTO findings_bookingfinding (booking_id, kind, edge_ids, party_ids, conditions, cause,
    checked_at)
SELECT market_booking.id, 'no_path', '{}', '{}', '[]', 'no_path:1-2', now() FROM market_booking
JOIN findings_blockedcampaign USING (campaign_id);
ALTER TABLE market_campaign ENABLE TRIGGER USER;
ALTER TABLE market_booking ENABLE TRIGGER USER;
"""


def fill(count: int) -> dict[str, Party]:
    """Fills a market of so many campaigns, with two bookings each, and some needles in it: nothing
    is switched off at the publisher who looks for it."""
    people = {}
    for kind, number in (("publisher", PUBLISHERS), ("advertiser", ADVERTISERS)):
        for n in range(number):
            name = f"{kind.title()} {n:03}"
            people[name] = found(Party.Kind(kind), name, Organisation.objects.create(name=name))
    rare = found(Party.Kind.ADVERTISER, "Seldom", Organisation.objects.create(name="Seldom"))
    publishers = [party.pk for name, party in people.items() if name.startswith("Publisher")]
    advertisers = [party.pk for name, party in people.items() if name.startswith("Advertiser")]
    with build_indexes_last(sorted(BIG), lambda *_: None), connection.cursor() as cursor:
        cursor.execute(
            FILL,
            {
                "count": count,
                "rare": rare.pk,
                "publishers": publishers,
                "publisher_count": PUBLISHERS,
                "advertisers": advertisers,
                "advertiser_count": ADVERTISERS,
            },
        )
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE market_party, market_campaign, market_booking, findings_blockedcampaign,"
            " findings_bookingfinding"
        )
    return people | {"Seldom": rare}


def addresses(parties: dict[str, Party]) -> list[str]:
    publisher, advertiser = parties["Publisher 003"].pk, parties["Advertiser 004"].pk
    words = ["trail", "xylophone", "nothing like it", "wave 77", "tr", "x", "q", "seldom", "12"]
    words += ["advertiser", "publisher 00", "advertiser 004", "coats trail", "wave 123", "7"]
    return [
        *(f"/campaigns/?q={word}" for word in ["", *words]),
        *(f"/bookings/?q={word}" for word in ["", *words]),
        *(f"/campaigns/?status={status}" for status in Status.values),
        *(f"/bookings/?status={status}" for status in Status.values),
        f"/campaigns/?advertiser={advertiser}",
        f"/campaigns/?advertiser={parties['Seldom'].pk}",
        "/campaigns/?label=brand",
        "/campaigns/?label=heirloom",
        f"/campaigns/?status=draft&advertiser={advertiser}&q=coats",
        *(f"/campaigns/?targeting={word}" for word in ("phone", "reykjavik", "town7", "nothing")),
        *(f"/campaigns/?sort={sort}" for sort in ("name", "-name", "ends", "-ends", "bid", "-bid")),
        "/campaigns/?sort=name&q=xylophone",
        "/campaigns/?sort=-bid&q=trail",
        "/campaigns/?sort=ends&targeting=phone",
        "/campaigns/?sort=ends&targeting=reykjavik",
        *(f"/campaigns/?sort=name&status={status}" for status in Status.values),
        f"/campaigns/?sort=-name&advertiser={advertiser}",
        f"/bookings/?publisher={publisher}",
        "/bookings/?active=no",
        f"/bookings/?publisher={publisher}&status=serving&active=yes&q=lamps",
        "/campaigns/options/?campaign=xyl",
        "/campaigns/options/?campaign=trail",
        "/campaigns/options/?campaign=coats&explain=1",
        "/",
        "/parties/",
        "/parties/?q=seldom",
        "/edges/",
        "/audiences/",
        "/lists/",
        "/attributes/",
    ]


def plans_of(client: Client, address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Explains the page's own queries, and those of the page after the first one."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        answer = client.get(address)
        assert answer.status_code == 200, address
        listing = (answer.context or {}).get("listing")
        if listing is not None and listing.page.after:
            joint = "&" if "?" in address else "?"
            client.get(f"{address}{joint}after={listing.page.after}")
    for query in captured.captured_queries:
        sql = query["sql"]
        if sql.startswith("SELECT") and any(table in sql for table in BIG):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}")
                (text,) = cursor.fetchone()
            plan = text if isinstance(text, list) else json.loads(text)
            yield sql, plan[0]


def rows_touched(node: dict[str, Any]) -> int:
    """Gives the most rows that one scan of a big table looked at."""
    touched = 0
    if node.get("Relation Name") in BIG:
        removed = node.get("Rows Removed by Filter", 0)
        removed += node.get("Rows Removed by Index Recheck", 0)
        touched = int((node["Actual Rows"] + removed) * node["Actual Loops"])
    return max([touched, *(rows_touched(child) for child in node.get("Plans", []))])


def blocks_touched(node: dict[str, Any]) -> int:
    """Counts the blocks that a plan looked at, its children's included."""
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])


def enter(people: dict[str, User]) -> dict[str, Client]:
    clients = {}
    for name, person in people.items():
        clients[name] = Client()
        clients[name].force_login(person)
    return clients


def readers(parties: dict[str, Party]) -> dict[str, Client]:
    """Logs in one of the exchange, one of a large advertiser, one of a small one, one of a
    publisher."""
    exchange = Organisation.objects.create(name="Exchange", is_operator=True)
    houses = {"exchange": exchange}
    for name in ("Advertiser 004", "Seldom", "Publisher 003"):
        houses[name] = parties[name].organisation
    return enter({name: hire(name, Role.VIEWER, house) for name, house in houses.items()})


def test_no_list_reads_a_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exchange.reading.paging.COUNT_LIMIT", COUNT_LIMIT)
    monkeypatch.setattr("exchange.reading.paging.SEARCHED_COUNT_LIMIT", COUNT_LIMIT // 4)
    parties = fill(20_000)
    with connection.cursor() as cursor:
        cursor.execute(AS_IF_LARGE)
    greedy = []
    for name, client in readers(parties).items():
        for address in addresses(parties):
            for sql, plan in plans_of(client, address):
                touched = rows_touched(plan["Plan"])
                if touched > MOST_ROWS:
                    greedy.append(f"{name} {address}: {touched:,} rows of {sql[:300]}")
    assert not greedy, "\n".join(greedy)


@pytest.mark.soak
@pytest.mark.large
def test_no_list_of_a_million_campaigns_reads_much() -> None:
    """Judges by rows and blocks, which are the same on a busy machine; `bench/pages.py` times."""
    parties = fill(1_000_000)
    greedy = []
    for name, client in readers(parties).items():
        for address in addresses(parties):
            for sql, plan in plans_of(client, address):
                touched, blocks = rows_touched(plan["Plan"]), blocks_touched(plan["Plan"])
                if touched > MOST_ROWS_OF_A_MILLION or blocks > MOST_BLOCKS:
                    greedy.append(
                        f"{name} {address}: {touched:,} rows, {blocks:,} blocks: {sql[:300]}"
                    )
    assert not greedy, "\n".join(greedy)
