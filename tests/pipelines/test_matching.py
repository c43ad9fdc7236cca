import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.asking import AskVisits, choose_answers
from pipelines.eligibility import NAME, EligibleVisits
from pipelines.matching import (
    SnapshotSource,
    WrongSnapshotError,
    open_checked,
)
from tests.pipelines.history import USA_AT_HERALD, Entry, History

pytestmark = pytest.mark.spark


def test_a_snapshot_other_than_the_drivers_is_refused(tmp_path: Path) -> None:
    folder = History(tmp_path).snapshot()
    source = SnapshotSource.of(folder, is_shipped=False)
    (folder / "index.atree").write_bytes(b"another")
    with pytest.raises(WrongSnapshotError, match="not the snapshot"):
        source.open()


def test_an_index_with_unknown_bookings_is_refused(tmp_path: Path) -> None:
    one = History(tmp_path).snapshot([USA_AT_HERALD])
    other = History(tmp_path).snapshot([Entry(2, 20, "daily-herald", "true")])
    shutil.copy(other / "bookings.arrow", one / "bookings.arrow")
    with pytest.raises(WrongSnapshotError, match="lacks"):
        SnapshotSource.of(one, is_shipped=False).open()


def test_each_process_opens_a_snapshot_once(tmp_path: Path) -> None:
    source = SnapshotSource.of(History(tmp_path).snapshot(), is_shipped=False)
    assert source.open() is source.open()
    assert open_checked.cache_info().currsize == 1


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
    """Sends files as on a cluster, where nobody but the driver has the driver's folder."""
    folder = History(tmp_path).snapshot()
    spark.sparkContext.addFile(str(folder), recursive=True)
    elsewhere = f"/nowhere/{folder.name}"
    source = replace(SnapshotSource.of(folder, is_shipped=True), folder=elsewhere)
    visits = spark.createDataFrame(pa.Table.from_batches([struct_batch(["USA", "DEU"])]))
    asking = AskVisits(source, [EligibleVisits()])
    answers = choose_answers(visits.mapInArrow(asking, asking.schema), NAME)
    found = answers.where("publisher is not null").collect()
    assert [(row.campaign_id, row.eligible_visits) for row in found] == [(10, 1)]
