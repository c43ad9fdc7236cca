"""Asks the sample which of its visits are at a publisher, and which the rules of edges let by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Edge, Party
from exchange.reading.sampled_market import Places
from exchange.reports.sample_counting import Counter, Rows
from targeting import ExpressionError


class SampleRules:
    """Reads each rule once. Not thread-safe. Visits that lack what every visit must carry are not
    left out here: they count nowhere, whatever the rules say."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._reader = ExpressionReader(load_catalog())
        self._passing: dict[int, Rows] = {}

    def at(self, publisher: Party) -> Places:
        return self._counter.at(publisher.seller_id)

    def passes(self, edge: Edge) -> Rows:
        """A rule that does not compile lets nothing by."""
        if edge.pk not in self._passing:
            try:
                rule = self._reader.read(edge.expression, edge.seller.organisation_id)
            except ExpressionError:
                self._passing[edge.pk] = np.zeros(len(self._counter.sample), dtype=bool)
            else:
                self._passing[edge.pk] = self._counter.judge(rule.root, rule).true
        return self._passing[edge.pk]

    def along(self, places: Places, edges: Iterable[Edge]) -> Places:
        """Leaves of these rows those that every one of the edges lets by."""
        for edge in edges:
            places = places[self.passes(edge)[places]]
        return places
