from pathlib import Path

import pytest

from exchange.reports.job import JobError, JobOrder, explain_failure, run_job
from tests.reports.summaries import FIRST, SECOND


class GivenUpError(Exception):
    pass


def test_a_job_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    order = JobOrder(tmp_path / "nowhere", FIRST, SECOND)
    with pytest.raises(
        JobError, match=r"^/.*nowhere holds no index.atree: build a snapshot first$"
    ):
        list(run_job(order, beat=lambda: None))


def test_a_job_is_stopped_when_its_run_was_given_up(tmp_path: Path) -> None:
    def beat() -> None:
        raise GivenUpError

    with pytest.raises(GivenUpError):
        list(run_job(JobOrder(tmp_path, FIRST, SECOND), beat=beat))


@pytest.mark.parametrize(
    ("code", "last_words", "advice"),
    [
        (2, "No Java found for Spark: install Java 17 or newer.", "No Java found"),
        (-9, "", "stopped by signal 9"),
        (1, "java.io.IOException: No space left on device", "The disk is full"),
        (1, "[CANNOT_READ_FILE_FOOTER] Could not read footer", "visit log is damaged"),
        (1, "ValueError: surprise", "show this to an administrator"),
    ],
)
def test_a_failure_begins_with_what_to_do(code: int, last_words: str, advice: str) -> None:
    message = explain_failure(code, ["Traceback\n", last_words + "\n"])
    assert advice in message.partition("\n")[0]
    assert last_words in message
