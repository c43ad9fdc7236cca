"""Runs the Spark job as a process of its own and reads what it says.

The job's command line and its progress lines are the whole contract: nothing of it is imported.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO

import msgspec
from django.conf import settings

BEAT_SECONDS = 5.0
STOP_SECONDS = 10.0
TAIL_LINES = 40
# The job could not start, and its last line says why: no Java, no snapshot, wrong arguments.
EXIT_UNABLE = 2


class JobError(Exception):
    """The job could not do its work; the message is for the person who asked for it."""


class DayDone(msgspec.Struct, frozen=True):
    """One progress line of the job. Unknown fields are ignored, so that the job may say more."""

    day: date
    status: str
    snapshot_id: str
    visits: int
    malformed: int
    duplicates: int
    late: int
    wrong_values: int
    seconds: float

    @property
    def has_log(self) -> bool:
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class JobOrder:
    snapshot_folder: Path
    first_day: date
    last_day: date

    def command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "pipelines.eligible_visits"),
            *("--visits", str(settings.VISIT_LOG_DIR)),
            *("--snapshot", str(self.snapshot_folder)),
            *("--first-day", str(self.first_day)),
            *("--last-day", str(self.last_day)),
            *("--out", str(settings.REPORT_DIR)),
            *("--master", settings.SPARK_MASTER),
            *("--truth-rates", str(settings.TRUTH_RATES_FILE)),
            "--end-with-stdin",
        ]


def run_job(order: JobOrder, beat: Callable[[], None]) -> Iterator[DayDone]:
    """Yields each day as it is done and calls `beat` every few seconds while waiting.

    The job ends with us: when the caller stops listening or `beat` raises it is stopped, and when
    this process is killed it sees the end of its standard input.
    """
    with started(order.command()) as process:
        stderr_tail: deque[str] = deque(maxlen=TAIL_LINES)
        lines: queue.Queue[str | None] = queue.Queue()
        readers = [
            start_thread(lambda: forward(pipe_of(process.stdout), lines)),
            start_thread(lambda: stderr_tail.extend(pipe_of(process.stderr))),
        ]
        for line in lines_until_end(lines, beat):
            if line.startswith("{"):
                yield msgspec.json.decode(line, type=DayDone)
        code = process.wait()
        for reader in readers:
            reader.join()
        if code != 0:
            raise JobError(explain_failure(code, list(stderr_tail)))


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe_of(pipe).close()


def start_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def forward(pipe: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in pipe:
        lines.put(line)
    lines.put(None)


def lines_until_end(lines: queue.Queue[str | None], beat: Callable[[], None]) -> Iterator[str]:
    due = time.monotonic()
    while True:
        if time.monotonic() >= due:
            beat()
            due = time.monotonic() + BEAT_SECONDS
        try:
            line = lines.get(timeout=max(0.05, due - time.monotonic()))
        except queue.Empty:
            continue
        if line is None:
            return
        yield line


def pipe_of(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # noqa: S101 - every pipe was asked for
    return pipe


def explain_failure(code: int, tail: list[str]) -> str:
    """What to do first, then the end of what the job wrote, for whoever has to look deeper."""
    text = "".join(tail).strip()
    if code == EXIT_UNABLE and text:
        return text.splitlines()[-1].removeprefix("eligible_visits: error: ")
    if code < 0:
        advice = f"The job was stopped by signal {-code}, perhaps for lack of memory. Run it again."
    elif "No space left on device" in text:
        advice = "The disk is full. Free some space, then run the report again."
    elif "is not a Parquet file" in text or "CANNOT_READ_FILE" in text:
        advice = "A file of the visit log is damaged. Replace or remove it, then run again."
    else:
        advice = "The job failed. Run it again; if it fails again, show this to an administrator."
    return f"{advice}\n\n{text}".strip()
