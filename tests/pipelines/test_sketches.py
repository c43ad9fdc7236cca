"""Sketches that are made by hand, against the library that defines them."""

from __future__ import annotations

import datasketches
import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from pipelines.sketches import MOST_THETA, Theta, make_coupons, murmur, write_hll

SIZES = [0, 1, 40, 384, 385, 20_000]


def draw(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**63, count, dtype=np.uint64)


@pytest.mark.parametrize("size", SIZES)
def test_a_sketch_has_what_the_library_notes_of_the_same_users(size: int) -> None:
    """Shows that uniting it with the library's own adds nothing."""
    users = draw(size)
    ours = datasketches.hll_sketch.deserialize(write_hll(make_coupons(murmur(users))))
    theirs = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
    for user in users.tolist():
        theirs.update(user)
    both, alone = datasketches.hll_union(12), datasketches.hll_union(12)
    both.update(ours)
    both.update(theirs)
    alone.update(ours)
    assert both.get_estimate() == alone.get_estimate()
    assert ours.get_estimate() == pytest.approx(size, rel=0.06)


@pytest.mark.spark
def test_spark_unites_what_was_made_here(spark: SparkSession) -> None:
    parts = [draw(300), draw(2_000, seed=2), np.concatenate([draw(300), draw(200, seed=3)])]
    sketches = [(write_hll(make_coupons(murmur(np.unique(part)))),) for part in parts]
    rows = spark.createDataFrame(sketches, "users binary")
    united = rows.agg(sf.hll_sketch_estimate(sf.hll_union_agg("users"))).collect()[0][0]
    assert united == pytest.approx(2_500, rel=0.06)


def test_theta_sketches_of_parts_unite_to_that_of_the_whole() -> None:
    hashes = np.sort(murmur(draw(30_000)).first)
    whole = Theta.of(hashes)
    united = Theta.unite([Theta.of(hashes[::2]), Theta.of(hashes[1::2]), Theta.of(hashes[:100])])
    assert len(whole.hashes) == MOST_THETA
    assert united.bound <= whole.bound
    for sketch in (whole, united):
        assert sketch.estimate() == pytest.approx(30_000, rel=0.1)
    few = Theta.of(hashes[:1_000])
    assert Theta.unite([few, Theta.of(hashes[500:1_500])]).estimate() == 1_500
