"""Tells for the pages of the catalogue what sampled visits carry of each attribute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exchange.market.catalog import load_catalog
from exchange.market.models import Attribute
from exchange.market.traffic import MOST_VALUES, SampledTraffic, sample_traffic

VALUES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Carried:
    """Holds in how many of a hundred visits an attribute was, and its values: how many, and some of
    them, unless they are about one person. `value_count` is None where values are not counted."""

    percent: float
    value_count: int | None
    is_many: bool = False
    values: tuple[str, ...] = ()


def read_carried(attributes: Iterable[Attribute]) -> tuple[SampledTraffic, dict[int, Carried]]:
    """Reads the sample once; by attribute, without those that the log has no column of."""
    sample = sample_traffic(load_catalog())
    rates = sample.traffic.fill_rates
    return sample, {
        attribute.pk: tell_carried(attribute, sample)
        for attribute in attributes
        if attribute.name in rates
    }


def tell_carried(attribute: Attribute, sample: SampledTraffic) -> Carried:
    percent = 100 * sample.traffic.fill_rates[attribute.name]
    known = sample.traffic.values.get(attribute.name)
    is_counted = attribute.type in {"string", "string set", "integer", "integer set"}
    if known is None:
        return Carried(percent, MOST_VALUES if is_counted else None, is_many=is_counted)
    shown = () if attribute.is_personal else tuple(sorted(map(str, known))[:VALUES_SHOWN])
    return Carried(percent, len(known), values=shown)
