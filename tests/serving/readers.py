"""Ad servers that ask all the time, and note every answer that should not have been."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.serving.asking import Client, Reply


class Readers:
    """Threads with a connection each. `is_right` judges every answer."""

    def __init__(self, port: int, is_right: Callable[[Reply], bool], count: int = 3) -> None:
        self._port = port
        self._is_right = is_right
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(count)]
        self.wrong: list[object] = []
        self.states: Counter[tuple[str, int]] = Counter()
        self.slowest_seconds = 0.0

    def have_seen(self, *, snapshots: int, states: int) -> bool:
        seen = list(self.states)
        return len({snapshot_id for snapshot_id, _ in seen}) >= snapshots and len(seen) >= states

    def _read(self) -> None:
        client = Client(self._port)
        while not self._is_over.is_set() and len(self.wrong) < 10:
            started = time.perf_counter()
            try:
                reply = client.ask({})
            except OSError as error:
                self.wrong.append(error)
                continue
            self.slowest_seconds = max(self.slowest_seconds, time.perf_counter() - started)
            if reply.status != 200 or not self._is_right(reply):
                self.wrong.append((reply.status, reply.body[:500]))
            else:
                document = reply.document()
                self.states[document["snapshot_id"], document["delta"]] += 1
        client.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in self._threads:
                thread.join()
