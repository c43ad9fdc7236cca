"""Writes generated campaigns and their bookings as lines for COPY.

Asks the database for nothing after it is made, so that a thread of its own can make the next batch
while Postgres takes in the last one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from exchange.demo import extras
from exchange.demo.campaigns import Campaign
from exchange.demo.chance import stream
from exchange.market import models
from exchange.market.catalog import load_catalog
from exchange.market.saved_graph import load_graph
from exchange.market.services.value_lists import as_array_text
from exchange.market.uses import Reader, digest_of
from exchange.routing import Path

COPY_CAMPAIGNS = """
    COPY market_campaign (id, advertiser_id, name, expression, status, starts_at, ends_at, bid_cpm,
                          priority, labels, uses, uses_digest, created_at, updated_at) FROM STDIN
"""
COPY_BOOKINGS = """
    COPY market_booking (campaign_id, advertiser_id, publisher_id, is_active, policy, hop_limit,
                         pinned_edges, created_at, updated_at) FROM STDIN
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts for `COPY_CAMPAIGNS` and `COPY_BOOKINGS`."""

    count: int
    campaigns: str
    bookings: str


class RowWriter:
    """Writes batches; `values` gathers what the expressions name."""

    def __init__(self, seed: int, reference: date, party_ids: list[int]) -> None:
        self.values: set[tuple[str, str]] = set()
        self._party_ids = party_ids
        self._now = datetime.combine(reference, time.min, tzinfo=UTC)
        self._now_text = str(self._now)
        self._rng = stream(seed, "extras")
        self._owners = dict(models.Party.objects.values_list("id", "organisation_id"))
        self._reader = Reader(load_catalog())
        self._reader.prepare(self._owners.values())
        self._graph = load_graph()

    def write(self, ids: Sequence[int], campaigns: Iterator[Campaign]) -> Batch:
        """Takes as many campaigns as there are ids."""
        numbered = list(zip(ids, campaigns, strict=False))
        paths = self._find_paths(campaign for _, campaign in numbered)
        first = "".join([self._campaign_line(id_, campaign) for id_, campaign in numbered])
        second = "".join(
            [
                line
                for id_, campaign in numbered
                for line in self._booking_lines(id_, campaign, paths)
            ]
        )
        return Batch(len(numbered), first, second)

    def _find_paths(self, campaigns: Iterable[Campaign]) -> dict[int, dict[int, Path]]:
        """Finds, by publisher and advertiser, the cheapest paths of all that these campaigns
        book."""
        wanted: dict[int, set[int]] = defaultdict(set)
        for campaign in campaigns:
            for publisher in campaign.publishers:
                wanted[self._party_ids[publisher]].add(self._party_ids[campaign.advertiser])
        return {
            publisher_id: self._graph.cheapest_paths(publisher_id, advertiser_ids)
            for publisher_id, advertiser_ids in wanted.items()
        }

    def _campaign_line(self, id_: int, campaign: Campaign) -> str:
        advertiser_id = self._party_ids[campaign.advertiser]
        expression = extras.join_audience(campaign.expression, self._rng)
        uses = self._reader.read(expression, self._owners[advertiser_id])
        self.values |= uses.values
        fields = (
            str(id_),
            str(advertiser_id),
            escape(campaign.name),
            escape(expression),
            campaign.status,
            str(campaign.starts_at),
            r"\N" if campaign.ends_at is None else str(campaign.ends_at),
            str(campaign.bid_cpm),
            str(extras.PRIORITIES.draw(self._rng)),
            write_array(extras.LABEL_SETS.draw(self._rng)),
            write_array(sorted(uses.words)),
            digest_of(expression),
            str(min(campaign.starts_at, self._now)),
            self._now_text,
        )
        return "\t".join(fields) + "\n"

    def _booking_lines(
        self, id_: int, campaign: Campaign, paths: dict[int, dict[int, Path]]
    ) -> Iterator[str]:
        advertiser_id, now = self._party_ids[campaign.advertiser], self._now_text
        for publisher in campaign.publishers:
            publisher_id = self._party_ids[publisher]
            path = paths[publisher_id].get(advertiser_id)
            routing = extras.draw_routing(path, self._rng)
            pins = ",".join(map(str, routing.pinned_edges))
            yield (
                f"{id_}\t{advertiser_id}\t{publisher_id}\tt\t{routing.policy}\t{routing.hop_limit}"
                f"\t{{{pins}}}\t{now}\t{now}\n"
            )


def escape(value: str) -> str:
    """Escapes a text in COPY's format."""
    escaped = value.replace("\\", "\\\\").replace("\t", "\\t")
    return escaped.replace("\n", "\\n").replace("\r", "\\r")


def write_array(values: Sequence[str]) -> str:
    return escape(as_array_text(values)) if values else "{}"
