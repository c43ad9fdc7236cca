from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.partitions import DayStore
from tests.pipelines.history import DAY, NEXT_DAY

pytestmark = pytest.mark.spark


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_commit_that_was_cut_short_is_completed(spark: SparkSession, tmp_path: Path) -> None:
    """Killed after the first table was moved: the second is still the old one."""
    put(tmp_path / "one" / f"dt={DAY}" / "new", "")
    put(tmp_path / "two" / f"dt={DAY}" / "old", "")
    put(tmp_path / "_ready" / f"dt={DAY}" / "two" / "new", "")
    DayStore(spark, str(tmp_path)).finish_interrupted(DAY)
    assert [path.name for path in (tmp_path / "two" / f"dt={DAY}").iterdir()] == ["new"]
    assert [path.name for path in (tmp_path / "one" / f"dt={DAY}").iterdir()] == ["new"]
    assert not (tmp_path / "_ready" / f"dt={DAY}").exists()


def test_what_was_never_committed_is_cleared_for_its_day_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "_staging" / f"dt={DAY}.abc" / "one" / "part", "")
    put(tmp_path / "_staging" / f"dt={NEXT_DAY}.def" / "one" / "part", "")
    DayStore(spark, str(tmp_path)).finish_interrupted(DAY)
    assert [path.name for path in (tmp_path / "_staging").iterdir()] == [f"dt={NEXT_DAY}.def"]


def test_tables_of_a_day_appear_only_with_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    store = DayStore(spark, str(tmp_path))
    staged = store.stage(DAY)
    staged.write("numbers", spark.range(3))
    assert not (tmp_path / "numbers").exists()
    store.commit(staged)
    assert spark.read.parquet(str(tmp_path / "numbers" / f"dt={DAY}")).count() == 3
