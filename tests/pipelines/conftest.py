from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pipelines.session import JavaMissingError, start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Starts one real Spark session for the whole run: starting it is what costs."""
    try:
        session = start_session(name="tests", master="local[2]")
    except JavaMissingError as error:
        pytest.fail(str(error))
    yield session
    session.stop()
