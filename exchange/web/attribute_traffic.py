"""Tells for the pages of the catalogue what sampled visits carry of each attribute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exchange.market.catalog import load_catalog
from exchange.market.models import Attribute
from exchange.market.traffic import COUNTED, MOST_VALUES, SampledTraffic, sample_traffic
from targeting import Catalog

VALUES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Carried:
    """Holds in how many of a hundred visits an attribute was, and its values: how many, and the
    most frequent with their shares, unless they are about one person. `value_count` is None where
    values are not counted."""

    percent: float
    value_count: int | None
    is_many: bool = False
    top: tuple[tuple[str | int, float], ...] = ()


def read_carried(attributes: Iterable[Attribute]) -> tuple[SampledTraffic, dict[int, Carried]]:
    """Reads the sample once; by attribute, without those that the log has no column of."""
    catalog = load_catalog()
    sample = sample_traffic(catalog)
    return sample, {
        attribute.pk: tell_carried(attribute, catalog, sample)
        for attribute in attributes
        if attribute.name in sample.traffic.fill_rates and attribute.name in catalog
    }


def tell_carried(attribute: Attribute, catalog: Catalog, sample: SampledTraffic) -> Carried:
    percent = 100 * sample.traffic.fill_rates[attribute.name]
    known = sample.traffic.values.get(attribute.name)
    frequent = list(sample.nameable(catalog[attribute.name]).items())[:VALUES_SHOWN]
    top = tuple((value, 100 * count / sample.visits) for value, count in frequent)
    if known is None:
        is_many = attribute.type in COUNTED
        return Carried(percent, MOST_VALUES if is_many else None, is_many=is_many, top=top)
    return Carried(percent, len(known), top=top)
