"""Lists what an expression may be made of: for the builder and for completion while one types.

Attributes with what visits really carry of them, the organisation's audiences and lists, and names
of places. Values are offered as `traffic` allows: nothing that is about one person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.db.models import Q

from exchange.market.catalog import load_catalog
from exchange.market.models import Audience, ValueList
from exchange.market.names import usable_by
from exchange.market.places import read_places
from exchange.market.strange_values import find_meant_country
from exchange.market.traffic import SampledTraffic, sample_traffic
from targeting.catalog import Attribute, AttributeType

TOP = 5
MOST_OFFERED = 12
TEXTS = (AttributeType.STRING, AttributeType.STRING_SET)

Document = dict[str, Any]


def describe_vocabulary(organisation_id: int | None) -> Document:
    catalog = load_catalog()
    sampled = sample_traffic(catalog)
    mine = usable_by(organisation_id)
    return {
        "attributes": [
            describe_attribute(attribute, sampled) for attribute in catalog if not attribute.retired
        ],
        "audiences": describe_audiences(mine),
        "lists": describe_lists(mine),
        "places": read_places(),
    }


def describe_attribute(attribute: Attribute, sampled: SampledTraffic) -> Document:
    """Describes an attribute; `fill` is the share of visits that say it, None if nobody counted."""
    rate = sampled.traffic.fill_rates.get(attribute.name)
    return {
        "name": attribute.name,
        "type": attribute.type.value,
        "description": attribute.description,
        "domain": attribute.domain,
        "fill": None if rate is None else round(rate, 4),
        "top": list(islice(sampled.nameable(attribute), TOP)),
    }


def describe_audiences(mine: Q) -> list[Document]:
    rows = Audience.objects.kept().filter(mine).order_by("name")
    return [dict(row) for row in rows.values("name", "description")]


def describe_lists(mine: Q) -> list[Document]:
    rows = ValueList.objects.kept().filter(mine).order_by("name")
    return [dict(row) for row in rows.values("name", "type", "value_count")]


def find_values(name: str, wanted: str) -> list[Document]:
    """Finds values of an attribute that have `wanted` in them, those that begin with it first;
    countries also by their other names. `share` is that of visits, None where nobody counted."""
    catalog = load_catalog()
    if name not in catalog:
        return []
    sampled = sample_traffic(catalog)
    attribute = catalog[name]
    found = islice(rank_values(attribute, sampled, wanted.strip()), MOST_OFFERED)
    counts = sampled.counts.get(name, {})
    return [
        {"value": value, "share": counts.get(value, 0) / sampled.visits if sampled.visits else None}
        for value in found
    ]


def find_anywhere(wanted: str) -> list[Document]:
    """Finds values that begin with `wanted`, of whatever attribute, the most frequent ones first:
    for somebody who knows `Berlin`, and not yet that it is a city."""
    catalog = load_catalog()
    sampled = sample_traffic(catalog)
    folded = wanted.strip().casefold()
    if not folded:
        return []
    found: list[Document] = [
        {
            "attribute": attribute.name,
            "value": value,
            "share": sampled.counts.get(attribute.name, {}).get(value, 0) / max(1, sampled.visits),
        }
        for attribute in catalog
        if not attribute.retired and attribute.type in TEXTS
        for value in begin_with(attribute, sampled, folded, wanted)
    ]
    return sorted(found, key=lambda each: -each["share"])[:MOST_OFFERED]


def begin_with(
    attribute: Attribute, sampled: SampledTraffic, folded: str, wanted: str
) -> Iterator[str | int]:
    """Yields a country also by its other names."""
    country = find_meant_country(attribute.name, wanted)
    if country:
        yield country
    for value in dict.fromkeys((*sampled.nameable(attribute), *(attribute.domain or ()))):
        if value != country and str(value).casefold().startswith(folded):
            yield value


def rank_values(attribute: Attribute, sampled: SampledTraffic, wanted: str) -> Iterator[str | int]:
    known = dict.fromkeys((*sampled.nameable(attribute), *(attribute.domain or ())))
    folded = wanted.casefold()
    holding = [value for value in known if folded in str(value).casefold()]
    country = find_meant_country(attribute.name, wanted)
    if country:
        yield country
    for is_beginning in (True, False):
        for value in holding:
            if str(value).casefold().startswith(folded) is is_beginning and value != country:
                yield value


def find_holder(values: Sequence[str]) -> str | None:
    """Finds the attribute that most of the values were seen in, or are allowed in; None if half of
    them are nowhere."""
    catalog = load_catalog()
    sampled = sample_traffic(catalog)

    def count(attribute: Attribute) -> int:
        known = {str(value) for value in (*sampled.nameable(attribute), *(attribute.domain or ()))}
        return sum(value in known for value in values)

    counted = {attribute.name: count(attribute) for attribute in catalog if not attribute.retired}
    best = max(counted, key=counted.__getitem__, default=None)
    return best if best is not None and 2 * counted[best] > len(values) else None
