"""Sketches of users that a table makes are those that Spark makes of the same users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf

from matcher_ext import ATree, Snapshot, VisitTable
from targeting import Catalog

CATALOG = Catalog.of(**{"publisher.id": "string", "user.id": "string", "age": "integer"})
USERS = 6000
Aggregate = Callable[..., Column]
FUNCTIONS: dict[str, tuple[Aggregate, Aggregate, Aggregate]] = {
    "hll": (sf.hll_sketch_agg, sf.hll_union_agg, sf.hll_sketch_estimate),
    "theta": (sf.theta_sketch_agg, sf.theta_union_agg, sf.theta_sketch_estimate),
}


def freeze() -> Snapshot:
    index = ATree(CATALOG)
    index.insert_many(
        [1, 2, 3, 4],
        [
            "publisher.id = 'a' and age < 4000",
            "publisher.id = 'b' and age < 5000",
            "publisher.id = 'a' and age < 30",
            "publisher.id = 'none'",
        ],
    )
    return index.freeze()


def draw() -> pa.Table:
    """Draws every user at both publishers; some have names beyond ASCII, some visits have no
    user."""
    names = [f"usér {n}" if n % 3 else f"user-{n}" for n in range(USERS)]
    return pa.table(
        {
            "publisher.id": ["a"] * USERS + ["b"] * USERS + ["a"],
            "user.id": [*names, *names, None],
            "age": [*range(USERS), *range(USERS), 1],
        }
    )


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_spark_merges_them_with_its_own_and_counts_everyone_once(
    spark: SparkSession, kind: Any
) -> None:
    visits = draw()
    table = VisitTable.from_arrow(visits, CATALOG)
    sketch, union, estimate = FUNCTIONS[kind]
    ours = table.user_sketches(freeze(), kind=kind)
    assert ours.keys() == {1, 2, 3}
    by_campaign = table.user_sketches(freeze(), kind=kind, keys={1: 7, 2: 7, 3: 8})
    assert by_campaign.keys() == {7, 8}
    names = visits["user.id"].to_pylist()
    expected = {1: names[:4000], 2: names[:5000], 3: names[:30], 7: names[:5000], 8: names[:30]}
    rows = [(key, bytearray(made)) for key, made in (ours | by_campaign).items()]
    of_ours = spark.createDataFrame(rows, "key long, sketch binary")
    people = [(key, name) for key, users in expected.items() for name in users]
    of_spark = (
        spark.createDataFrame(people, "key long, user string")
        .groupBy("key")
        .agg(sketch("user", 12).alias("sketch"))
    )
    merge = estimate(union("sketch")).alias("n")
    merged = of_ours.unionByName(of_spark).groupBy("key").agg(merge)
    alone = of_spark.unionByName(of_spark).groupBy("key").agg(merge)  # in the same estimator
    found = {row["key"]: row["n"] for row in merged.collect()}
    assert found == {row["key"]: row["n"] for row in alone.collect()}
    assert found[3] == found[8] == 30
    assert all(abs(found[key] - len(users)) <= 0.06 * len(users) for key, users in expected.items())


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="hll or theta"):
        VisitTable.from_arrow(draw(), CATALOG).user_sketches(freeze(), kind="kll")  # type: ignore[arg-type]
