import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.matching import (
    INDEX_FILE,
    CountMatches,
    SnapshotSource,
    WrongSnapshotError,
    hash_file,
    open_checked,
)
from tests.pipelines.history import USA_AT_HERALD, Entry, History

pytestmark = pytest.mark.spark


def test_an_index_other_than_the_drivers_is_refused(tmp_path: Path) -> None:
    folder = History(tmp_path).snapshot()
    source = SnapshotSource(str(folder), "0" * 64, is_shipped=False)
    with pytest.raises(WrongSnapshotError, match="not the snapshot"):
        source.open()


def test_each_process_opens_the_index_once(tmp_path: Path) -> None:
    path = History(tmp_path).snapshot() / INDEX_FILE
    assert open_checked(str(path), hash_file(path)) is open_checked(str(path), hash_file(path))


def test_counts_add_up_over_batches(tmp_path: Path) -> None:
    everyone = Entry(2, 20, "daily-herald", "publisher.id is present")
    folder = History(tmp_path).snapshot([USA_AT_HERALD, everyone])
    source = SnapshotSource(str(folder), hash_file(folder / INDEX_FILE), is_shipped=False)
    batches = [struct_batch(["USA", "DEU"]), struct_batch([]), struct_batch(["USA"])]
    (counts,) = CountMatches(source)(iter(batches))
    assert counts.to_pydict() == {"booking_id": [1, 2], "eligible_visits": [2, 3]}


def struct_batch(countries: list[str]) -> pa.RecordBatch:
    columns = {
        "publisher.id": pa.array(["daily-herald"] * len(countries), pa.string()),
        "geo.country": pa.array(countries, pa.string()),
    }
    visits = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    return pa.record_batch({"visit": visits})


def test_workers_can_take_the_index_from_files_sent_to_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As on a cluster, where the driver's folder is not there."""
    folder = History(tmp_path).snapshot()
    sha256 = hash_file(folder / INDEX_FILE)
    spark.sparkContext.addFile(str(folder), recursive=True)
    shutil.rmtree(folder)
    source = SnapshotSource(str(folder), sha256, is_shipped=True)
    rows = spark.createDataFrame(
        pa.table(struct_batch(["USA", "DEU"]).to_struct_array().flatten(), names=["visit"])
    )
    counted = rows.mapInArrow(
        CountMatches(source), "booking_id long, eligible_visits long"
    ).collect()
    assert [(row.booking_id, row.eligible_visits) for row in counted if row.booking_id] == [(1, 1)]
