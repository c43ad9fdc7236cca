"""Runs the Spark jobs as a process of their own and reads what they say.

The command line and its lines of progress are the whole contract: nothing of it is imported.
"""

from __future__ import annotations

import os
import queue
import signal
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
LOG_LINES = 4_000  # kept of a run; Spark says a few hundred
# The job could not start, and its last line says why: no Java, no snapshot, wrong arguments.
EXIT_UNABLE = 2
# A job of a day failed; its line says which, and why.
EXIT_FAILED = 4


class JobError(Exception):
    """Says why the job could not do its work, to the person who asked for it."""


class JobDone(msgspec.Struct, frozen=True):
    """One job of one day. Unknown fields are ignored, so that the job may say more."""

    job: str
    day: date
    status: str
    snapshot_id: str
    seconds: float
    input: dict[str, int] = {}
    output: dict[str, int] = {}
    error: str = ""

    @property
    def has_log(self) -> bool:
        return self.status != "no_log"


class Tasks(msgspec.Struct, frozen=True):
    """How far Spark is with what it does now."""

    stages: int
    tasks_done: int
    tasks: int


class JobBegan(msgspec.Struct, frozen=True):
    """A job of a day that is being computed from now on."""

    job: str
    day: date


class Line(msgspec.Struct, frozen=True):
    progress: Tasks | None = None
    began: JobBegan | None = None


Said = JobDone | JobBegan | Tasks


@dataclass(frozen=True, slots=True)
class JobOrder:
    """Every job of the night, for days that are counted with one snapshot."""

    snapshot_folder: Path
    first_day: date
    last_day: date

    def command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "pipelines", "nightly"),
            *("--visits", str(settings.VISIT_LOG_DIR)),
            *("--snapshot", str(self.snapshot_folder)),
            *("--date", str(self.first_day)),
            *("--through", str(self.last_day)),
            *("--out", str(settings.REPORT_DIR)),
            *("--master", settings.SPARK_MASTER),
            *("--truth-rates", str(settings.TRUTH_RATES_FILE)),
            *("--answers", str(settings.ANSWER_LOG_DIR)),
            "--end-with-stdin",
        ]


def run_job(
    order: JobOrder, beat: Callable[[], None], log: deque[str] | None = None
) -> Iterator[Said]:
    """Yields each job of each day as it begins and ends, what Spark is at meanwhile, and calls
    `beat` every few seconds while waiting. What the job writes beside goes to `log`.

    The job ends with us: when the caller stops listening or `beat` raises it is stopped, and when
    this process is killed it sees the end of its standard input.
    """
    with started(order.command()) as process:
        written: deque[str] = deque(maxlen=LOG_LINES) if log is None else log
        lines: queue.Queue[str | None] = queue.Queue()
        readers = [
            start_thread(lambda: forward(pipe_of(process.stdout), lines)),
            start_thread(lambda: written.extend(pipe_of(process.stderr))),
        ]
        for line in lines_until_end(lines, beat):
            if line.startswith("{"):
                yield read_line(line)
        code = process.wait()
        for reader in readers:
            reader.join()
        if code not in (0, EXIT_FAILED):
            raise JobError(explain_failure(code, list(written)[-TAIL_LINES:]))


def read_line(line: str) -> Said:
    said = msgspec.json.decode(line, type=Line)
    return said.progress or said.began or msgspec.json.decode(line, type=JobDone)


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Starts the command in a process group of its own, which is ended as a whole: Spark starts
    others."""
    process = subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
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
    """Says what to do first, then the end of what the job wrote, for whoever has to look deeper."""
    text = "".join(tail).strip()
    if code == EXIT_UNABLE and text:
        return text.splitlines()[-1].removeprefix("nightly: error: ")
    if code < 0:
        advice = f"The job was stopped by signal {-code}, perhaps for lack of memory. Run it again."
        return f"{advice}\n\n{text}".strip()
    return explain_error(text)


def explain_error(text: str) -> str:
    if "No space left on device" in text:
        advice = "The disk is full. Free some space, then run the report again."
    elif "is not a Parquet file" in text or "CANNOT_READ_FILE" in text:
        advice = "A file of the visit log is damaged. Replace or remove it, then run again."
    else:
        advice = "The job failed. Run it again; if it fails again, show this to an administrator."
    return f"{advice}\n\n{text}".strip()
