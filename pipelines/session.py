"""Starts Spark alike for every job: small on this machine, or on a cluster by `--master`.

It owns what Spark must be told before it starts, and knows nothing of any job.
"""

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGE = Path(__file__).resolve().parent
ROWS_PER_BATCH = 8192
EXIT_UNABLE = 2  # the job could not start, and its last line says why
JAVA_OF_SETUP = Path(sys.prefix) / "java"


class JavaMissingError(RuntimeError):
    """No Java for Spark on this machine; the message says what to do."""


def prepare_java() -> None:
    """Finds Java: by JAVA_HOME, else on PATH, else what `make setup` put into the environment."""
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise JavaMissingError(f"JAVA_HOME is {home}, but there is no bin/java in it.")
    if home or shutil.which("java"):
        return
    if not (JAVA_OF_SETUP / "bin" / "java").exists():
        raise JavaMissingError(
            "No Java found for Spark: install Java 17 or newer, or run `make setup`."
        )
    os.environ["JAVA_HOME"] = str(JAVA_OF_SETUP)


def start_session(*, name: str, master: str) -> SparkSession:
    prepare_java()
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    # py4j logs every connection that it closes, even after the program's own log is closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    settings = every_master() | (this_machine() if is_local(master) else {})
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not is_local(master):
        spark.sparkContext.addPyFile(zip_package())
    return spark


@contextmanager
def running_session(*, name: str, master: str) -> Iterator[SparkSession]:
    """Starts Spark for a block. One that runs already is taken, and left to who started it."""
    is_ours = SparkSession.getActiveSession() is None
    spark = start_session(name=name, master=master)
    try:
        yield spark
    finally:
        if is_ours:
            spark.stop()


def is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def every_master() -> dict[str, str]:
    return {
        "spark.sql.session.timeZone": "UTC",
        # Attribute names differ by case, and `Geo.country` must not answer for `geo.country`.
        "spark.sql.caseSensitive": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        # No limit, which is this very number: to hold a batch against any other, Spark measures all
        # of its columns after each row, and takes minutes for what takes seconds.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        "spark.ui.showConsoleProgress": "false",
        # Servers and the demo write the visit log in milliseconds, too.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    }


def this_machine() -> dict[str, str]:
    """Makes Spark quick to start, and closed to the network: it listens on loopback only."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        # Short jobs end before the optimising compiler or a concurrent collector pay off.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(
            [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }


def zip_package() -> str:
    """Packs this package as a zip, for executors that have the engine but not the jobs."""
    folder = Path(tempfile.mkdtemp(prefix="treeline-pipelines-"))
    return shutil.make_archive(
        str(folder / "pipelines"), "zip", root_dir=PACKAGE.parent, base_dir=PACKAGE.name
    )
