"""Connections that have something to answer get their turn together."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from exchange.serving.http.connection import HttpConnection
from exchange.serving.http.crowd import Crowd, Limits


class Noted:
    """Stands for a connection; notes what happens to it."""

    def __init__(self, name: str, notes: list[str], *, fails: bool = False) -> None:
        self.name, self.notes, self.fails = name, notes, fails

    def go_on(self) -> None:
        self.notes.append(f"{self.name} goes on")
        if self.fails:
            raise ValueError(self.name)

    def abort(self) -> None:
        self.notes.append(f"{self.name} is given up")


async def read_then_answer(notes: list[str]) -> None:
    crowd = Crowd(Limits())
    for each in (Noted("first", notes, fails=True), Noted("second", notes)):
        notes.append(f"{each.name} is read")
        crowd.go_on_soon(cast(HttpConnection, each))
    await asyncio.sleep(0)
    third = Noted("third", notes)
    crowd.go_on_soon(cast(HttpConnection, third))
    await asyncio.sleep(0)


def test_all_are_read_before_the_first_is_answered_and_one_that_fails_stops_no_other() -> None:
    notes: list[str] = []
    # In a thread of its own: in the tests' one a browser's loop may be running.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, read_then_answer(notes)).result()
    assert notes == [
        "first is read",
        "second is read",
        "first goes on",
        "first is given up",
        "second goes on",
        "third goes on",
    ]
