"""Keeps long lists in a form that answers at once whether a value is in them.

A list of a million values is one tuple that many expressions share. What is made of it is kept as
long as the tuple is among the last ones used, and found again by its identity: comparing the values
would take as long as making it anew. Short lists are read as they are.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from targeting.operators import fold_host
from targeting.visits import V4_MAPPED, parse_timestamp

LONG = 1_000  # values: from here on the analysis looks at a list as a whole
KEPT = 20_000  # values, more than a text may have: from here on what is made of a list is kept
ALL_BITS = (1 << 128) - 1


class LongList:
    """The values of one list, and forms of them that are made when first asked for. Equal only to
    itself."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def members(self) -> frozenset[Any]:
        return frozenset(self.values)

    @cached_property
    def longest(self) -> int:
        """Counts the characters of the longest text."""
        return max(map(len, self.values), default=0)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Folds all hosts at once, which is far quicker than one by one: as lines, since hosts have
        no line breaks and folding keeps them."""
        if any("\n" in host for host in self.values):
            return frozenset(map(fold_host, self.values))
        folded = fold_host("\n".join(self.values) + "\n")
        return frozenset(host.removesuffix(".") for host in folded.split("\n")[:-1])

    @cached_property
    def networks(self) -> dict[int, frozenset[int]]:
        """Groups the networks' base addresses by their mask."""
        found: dict[int, set[int]] = {}
        for text in self.values:
            base, mask = read_network(text)
            found.setdefault(mask, set()).add(base)
        return {mask: frozenset(bases) for mask, bases in found.items()}

    @cached_property
    def moments(self) -> frozenset[int]:
        return frozenset(map(parse_timestamp, self.values))

    @cached_property
    def whole_numbers(self) -> NDArray[np.int64]:
        return sort_once(np.fromiter(self.values, np.int64, len(self.values)))


def sort_once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorts numbers, each once. Numpy's own `unique` takes twenty times as long for what is nearly
    sorted, as lists are."""
    ordered = np.sort(numbers, kind="stable")
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


class Same:
    """A key that is equal only to that of the very same object, which it keeps alive."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing


def find_kept_list(values: Sequence[Any]) -> LongList | None:
    """Finds what is kept of a list; None if nothing is, because it is short or may change."""
    if len(values) < KEPT or not isinstance(values, tuple | range):
        return None
    return keep_long_list(Same(values))


def find_long_list(values: Sequence[Any]) -> LongList | None:
    """Looks at a list as a whole: what is kept of it, or made anew; None if the list is short."""
    return find_kept_list(values) or (LongList(values) if len(values) >= LONG else None)


@lru_cache(maxsize=8)  # as many as the market keeps; a million texts take 100 MB
def keep_long_list(values: Same) -> LongList:
    return LongList(values.thing)  # type: ignore[arg-type]


def is_under_any(host: str, hosts: frozenset[str]) -> bool:
    """Tells whether the host, or a host above it, is among these folded ones."""
    folded = fold_host(host)
    if folded in hosts:
        return True
    dot = folded.find(".")
    while dot >= 0:
        if folded[dot + 1 :] in hosts:
            return True
        dot = folded.find(".", dot + 1)
    return False


def is_in_any(address: int, networks: dict[int, frozenset[int]]) -> bool:
    return any(address & mask in bases for mask, bases in networks.items())


def read_network(text: str) -> tuple[int, int]:
    """Reads the base address and the mask, both of 128 bits, of a text that the language accepts:
    a list of a million networks leaves no time for `ipaddress`."""
    address, _, prefix = text.partition("/")
    if ":" in address:
        base, length = socket.inet_pton(socket.AF_INET6, address), int(prefix or 128)
        return int.from_bytes(base), ALL_BITS ^ (ALL_BITS >> length)
    base, length = socket.inet_pton(socket.AF_INET, address), int(prefix or 32)
    return int.from_bytes(base) | V4_MAPPED, ALL_BITS ^ (ALL_BITS >> (length + 96))


# The tests of `operators` that take a list, on a list as a whole.
LONG_TESTS: dict[str, Callable[[Any, LongList], bool]] = {
    "in": lambda value, long: value in long.members,
    "one of": lambda value, long: not value.isdisjoint(long.members),
    "all of": lambda value, long: value.issuperset(long.members),
    "none of": lambda value, long: value.isdisjoint(long.members),
    "only of": lambda value, long: bool(value) and value.issubset(long.members),
    "under": lambda value, long: is_under_any(value, long.hosts),
    "in network": lambda value, long: is_in_any(value, long.networks),
}
