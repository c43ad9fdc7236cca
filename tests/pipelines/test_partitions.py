from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.partitions import DayStore
from targeting.report_tables import list_days, read_manifest, read_table
from tests.pipelines.history import DAY, NEXT_DAY

pytestmark = pytest.mark.spark


def numbers(out: str) -> list[int]:
    table = read_table(out, "counting", "numbers", DAY)
    assert table is not None
    return sorted(table["id"].to_pylist())


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_tables_of_a_day_appear_only_with_the_commit(
    scheme: str, spark: SparkSession, tmp_path: Path
) -> None:
    out = f"{scheme}{tmp_path}"
    store = DayStore(spark, out, "counting")
    staged = store.stage(DAY)
    staged.write("numbers", spark.range(3))
    staged.write("others", spark.range(0))
    assert read_table(out, "counting", "numbers", DAY) is None
    manifest = store.commit(staged, {"snapshot_id": "5" * 32})
    store.discard(staged)
    assert numbers(out) == [0, 1, 2]
    assert manifest == read_manifest(out, "counting", DAY)
    assert manifest["tables"]["others"]["rows"] == 0
    assert list(list_days(out, "counting")) == [DAY]


def test_what_was_never_committed_is_cleared_for_its_day_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = DayStore(spark, str(tmp_path), "counting")
    for day in (DAY, NEXT_DAY):
        store.stage(day).write("numbers", spark.range(1))
    store.clear(DAY)
    assert not list((tmp_path / "counting" / f"dt={DAY}").iterdir())
    assert list((tmp_path / "counting" / f"dt={NEXT_DAY}").iterdir())


def test_who_had_begun_to_read_goes_on_with_what_was_replaced(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Shows it until the run after."""
    store, paths = DayStore(spark, str(tmp_path), "counting"), []
    for count in (1, 2, 3):
        store.clear(DAY)
        staged = store.stage(DAY)
        staged.write("numbers", spark.range(count))
        manifest = store.commit(staged)
        folder = tmp_path / "counting" / f"dt={DAY}"
        paths.append([folder / name for name in manifest["tables"]["numbers"]["files"]])
        assert numbers(str(tmp_path)) == list(range(count))
    assert [all(path.exists() for path in each) for each in paths] == [False, True, True]
