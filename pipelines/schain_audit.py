"""Job: holds the supply chains that visits came with against the graph that the exchange knows.

    chains   publisher, chain, complete: visits, and what is wrong with it
    edges    pairs of known parties that sell to each other in traffic, but not in the graph

A node of a chain is `asi/sid`: here the domain and the seller id of a party. A chain is

    incomplete      it says itself that nodes are missing
    unknown_hop     a node is no party of the exchange
    unauthorised    it begins with another than the visit's publisher, or a party sells to one that
                    it has no edge to
    known           it is none of these
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.asking import Batches
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.visit_log import column, need
from targeting.visit_log import PUBLISHER, WEIGHT

GRAPH_FILE = "graph.json"
SELLERS = StructField("source.schain_sellers", ArrayType(StringType()))
COMPLETE = StructField("source.schain_complete", BooleanType())
INCOMPLETE, UNKNOWN_HOP, UNAUTHORISED, KNOWN = (
    "incomplete",
    "unknown_hop",
    "unauthorised",
    "known",
)
OBSERVED = StructType(
    [
        StructField("publisher", StringType()),
        StructField("chain", ArrayType(StringType())),
        StructField("is_complete", BooleanType()),
        StructField("visits", LongType()),
    ]
)
CHAINS = StructType(
    [
        *OBSERVED,
        StructField("verdict", StringType()),
        StructField("first_unknown", StringType()),
        StructField("sellers", ArrayType(StringType())),
        StructField("buyers", ArrayType(StringType())),
    ]
)
EDGES = StructType(
    [
        StructField("seller", StringType()),
        StructField("buyer", StringType()),
        StructField("visits", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a chain is. `missing` are the edges that would make it known."""

    name: str
    first_unknown: str | None = None
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph that the exchange knows: seller ids by node, and who sells to whom."""

    parties: dict[str, str]
    edges: frozenset[tuple[str, str]]

    @classmethod
    def read(cls, path: Path) -> "Graph":
        """Reads the snapshot's file; a build from before it was written knows nobody."""
        if not path.exists():
            return cls({}, frozenset())
        document = json.loads(path.read_text())
        nodes = {f"{each['domain']}/{each['seller_id']}": each for each in document["parties"]}
        parties = {node.lower(): each["seller_id"] for node, each in nodes.items()}
        return cls(parties, frozenset((seller, buyer) for seller, buyer in document["edges"]))

    def judge(self, publisher: str, chain: Sequence[str], *, is_complete: bool) -> Verdict:
        unknown = [node for node in chain if node.lower() not in self.parties]
        if not is_complete:
            return Verdict(INCOMPLETE, next(iter(unknown), None))
        if unknown:
            return Verdict(UNKNOWN_HOP, unknown[0])
        hops = [self.parties[node.lower()] for node in chain]
        missing = tuple(pair for pair in pairwise(hops) if pair not in self.edges)
        if missing or hops[0] != publisher:
            return Verdict(UNAUTHORISED, missing=missing)
        return Verdict(KNOWN)


def compute(day: DayInput) -> Tables:
    graph = Graph.read(Path(day.order.snapshot) / GRAPH_FILE)
    chains = day.keep(observe(day.visits).mapInArrow(JudgeChains(graph), CHAINS))
    return {"chains": chains, "edges": propose_edges(chains)}


def observe(visits: Sequence[DataFrame]) -> DataFrame:
    """Counts each chain's visits; takes a chain that does not say so for complete."""
    parts = [
        rows.select(
            column(PUBLISHER).alias("publisher"),
            need(rows, SELLERS).alias("chain"),
            sf.coalesce(need(rows, COMPLETE), sf.lit(True)).alias("is_complete"),
            column(WEIGHT),
        )
        for rows in visits
    ]
    with_chain = reduce(DataFrame.union, parts).where(sf.size("chain") > 0)
    keys = ["publisher", "chain", "is_complete"]
    return with_chain.groupBy(*keys).agg(sf.sum(WEIGHT).alias("visits"))


@dataclass(frozen=True, slots=True)
class JudgeChains:
    """Judges rows of OBSERVED into rows of CHAINS, for `mapInArrow`. There are few different
    chains, so plain Python is quick enough."""

    graph: Graph

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            rows = [self._judge(row) for row in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, to_arrow_schema(CHAINS))

    def _judge(self, row: dict[str, Any]) -> dict[str, Any]:
        verdict = self.graph.judge(row["publisher"], row["chain"], is_complete=row["is_complete"])
        return row | {
            "verdict": verdict.name,
            "first_unknown": verdict.first_unknown,
            "sellers": [seller for seller, _ in verdict.missing],
            "buyers": [buyer for _, buyer in verdict.missing],
        }


def propose_edges(chains: DataFrame) -> DataFrame:
    pairs = chains.select(sf.explode(sf.arrays_zip("sellers", "buyers")).alias("pair"), "visits")
    return (
        pairs.select("pair.sellers", "pair.buyers", "visits")
        .groupBy(column("sellers").alias("seller"), column("buyers").alias("buyer"))
        .agg(sf.sum("visits").alias("visits"))
    )


JOB = DayJob("schain_audit", {"chains": CHAINS, "edges": EDGES}, compute)
