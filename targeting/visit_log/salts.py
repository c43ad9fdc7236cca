"""Hides who a visit is of: user ids are hashed with a salt that lasts 28 days.

A window is 28 days; its salt is made of the log's secret and the window's first day. So that
a count of people over the last 28 days does not break when a window ends, a row has its user twice:
under the salt of its own window, and under the one before. Days that lie in two windows are then
counted under the older salt, which all of their rows have.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

WINDOW_DAYS = 28
FIRST_DAY = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Salt:
    """The salt of one window. `id` stands in the log: the window's first day, and a mark of the
    secret."""

    id: str
    key: bytes

    def hash(self, user: str) -> str:
        return hashlib.blake2b(user.encode(), key=self.key, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Salts:
    """Immutable and small: jobs send it to their workers."""

    secret: bytes

    def of(self, day: date) -> Salt:
        return make_salt(self.secret, window_of(day))

    def before(self, day: date) -> Salt:
        return make_salt(self.secret, window_of(day) - 1)


def window_of(day: date) -> int:
    return (day - FIRST_DAY).days // WINDOW_DAYS


@lru_cache(maxsize=8)
def make_salt(secret: bytes, window: int) -> Salt:
    first_day = FIRST_DAY + timedelta(days=window * WINDOW_DAYS)
    root = hashlib.blake2b(secret, digest_size=32).digest()
    mark = hashlib.blake2b(b"which secret", key=root, digest_size=4).hexdigest()
    key = hashlib.blake2b(f"{first_day}".encode(), key=root, digest_size=32).digest()
    return Salt(f"{first_day}.{mark}", key)
