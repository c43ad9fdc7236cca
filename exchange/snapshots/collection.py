"""Python's garbage collector, kept away from those who make millions of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """It would look through all of them again and again, and find nothing: half of the processor
    time of reading a large market, a fifth of that of a large delta."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
