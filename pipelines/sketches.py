"""Makes sketches of users, for all users of a batch at once.

An HLL sketch has the bytes of Apache DataSketches (HLL_8, family 7), so that Spark unites and
estimates what is written here. A theta sketch is the smallest hashes of a set and the bound below
which none was left out; several are united, and intersected, as sorted arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pandas.util import hash_array

Words = NDArray[np.uint64]

SEED = 9001  # of all sketches of DataSketches, unless somebody says otherwise
LOG2_BUCKETS = 12  # of an HLL sketch: 4 KB at most, and a standard error of 1.6 percent
MOST_THETA = 4096  # hashes of a theta sketch: so many users are exact
ALL = np.uint64(2**64 - 1)
# A sketch lists up to so many users one by one; beyond, it has a byte for each bucket.
MOST_LISTED = 3 << (LOG2_BUCKETS - 5)
KEY_BITS, KEY_MASK = 26, (1 << 26) - 1
SERIAL_VERSION, FAMILY = 1, 7
MODE_SET, MODE_HLL, HLL_8 = 1, 2, 2 << 2
COMPACT, OUT_OF_ORDER = 8, 16


class Hashes(NamedTuple):
    """The two words of each user's 128 bits."""

    first: Words
    second: Words


@dataclass(frozen=True, slots=True)
class Users:
    """The users of some rows in the order of their hashes, and each row's: -1 where there is
    none."""

    hashes: Words
    coupons: NDArray[np.uint32]
    of_row: NDArray[np.int64]

    @classmethod
    def of(cls, names: pa.Array, name_of_row: NDArray[np.int64]) -> Users:
        first, second = hash_texts(names)
        order = np.argsort(first)
        place_of = np.append(np.argsort(order), -1)  # the last is of none
        coupons = make_coupons(Hashes(first[order], second[order]))
        return cls(first[order], coupons, place_of[name_of_row])

    def choose(self, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Chooses each of the users of some rows once, ascending."""
        is_there = np.zeros(len(self.hashes) + 1, bool)
        is_there[users] = True
        return np.flatnonzero(is_there[:-1])


def hash_texts(texts: pa.Array) -> Hashes:
    """Hashes to 64 bits, and those as DataSketches hashes a number."""
    return murmur(hash_array(texts.to_numpy(zero_copy_only=False)).view(np.uint64))


def murmur(numbers: Words) -> Hashes:
    """Hashes words of eight bytes each by MurmurHash3, x64, 128 bits."""
    mixed = rotate(numbers * np.uint64(0x87C37B91114253D5), 31) * np.uint64(0x4CF5AD432745937F)
    second = np.full(len(numbers), SEED ^ 8, np.uint64)
    first = (mixed ^ np.uint64(SEED)) ^ np.uint64(8)
    first = first + second
    second = second + first
    first, second = finish(first), finish(second)
    first = first + second
    return Hashes(first, second + first)


def rotate(words: Words, bits: int) -> Words:
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


def finish(words: Words) -> Words:
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)


def make_coupons(hashes: Hashes) -> NDArray[np.uint32]:
    """Makes what an HLL sketch notes of a user: a bucket, and how rare the user is."""
    rarity = np.minimum(count_leading_zeros(hashes.second), 62).astype(np.uint64) + np.uint64(1)
    buckets = hashes.first & np.uint64(KEY_MASK)
    return (rarity << np.uint64(KEY_BITS) | buckets).astype(np.uint32)


def count_leading_zeros(words: Words) -> NDArray[np.int32]:
    """Counts by halves, which a float holds exactly: its exponent is the number of bits."""
    high, low = (words >> np.uint64(32)).astype(float), (words & np.uint64(2**32 - 1)).astype(float)
    zeros: NDArray[np.int32] = np.where(high > 0, 32 - np.frexp(high)[1], 64 - np.frexp(low)[1])
    return zeros


def write_hll(coupons: NDArray[np.uint32]) -> bytes:
    """Writes a sketch of users, each of them once."""
    return list_coupons(coupons) if len(coupons) <= MOST_LISTED else fill_buckets(coupons)


def list_coupons(coupons: NDArray[np.uint32]) -> bytes:
    listed = np.unique(coupons).astype("<u4")
    log2_slots = max(5, (len(listed) * 4 // 3).bit_length())
    head = (3, SERIAL_VERSION, FAMILY, LOG2_BUCKETS, log2_slots, COMPACT, 0, MODE_SET | HLL_8)
    return struct.pack("<8BI", *head, len(listed)) + listed.tobytes()


def fill_buckets(coupons: NDArray[np.uint32]) -> bytes:
    buckets = np.zeros(1 << LOG2_BUCKETS, np.uint8)
    rarities = (coupons >> KEY_BITS).astype(np.uint8)
    np.maximum.at(buckets, coupons & ((1 << LOG2_BUCKETS) - 1), rarities)
    shares = np.ldexp(1.0, -buckets.astype(np.int32))
    is_rare = buckets >= 32
    head = (10, SERIAL_VERSION, FAMILY, LOG2_BUCKETS, 0, COMPACT | OUT_OF_ORDER, 0)
    sums = (0.0, shares[~is_rare].sum(), shares[is_rare].sum())
    empty = int((buckets == 0).sum())
    return struct.pack("<8B3d2I", *head, MODE_HLL | HLL_8, *sums, empty, 0) + buckets.tobytes()


@dataclass(frozen=True, slots=True)
class Theta:
    """Ascending hashes of users; none below `bound` was left out."""

    hashes: Words
    bound: np.uint64 = ALL

    @classmethod
    def of(cls, hashes: Words) -> Theta:
        """Makes the sketch of different users, whose hashes ascend."""
        return cls(hashes).shorten()

    @classmethod
    def unite(cls, sketches: Iterable[Theta]) -> Theta:
        found = list(sketches)
        bound = min(each.bound for each in found)
        hashes = np.unique(np.concatenate([each.hashes for each in found]))
        return cls(hashes[hashes < bound] if bound < ALL else hashes, bound).shorten()

    def shorten(self) -> Theta:
        if len(self.hashes) <= MOST_THETA:
            return self
        return Theta(self.hashes[:MOST_THETA], self.hashes[MOST_THETA])

    def estimate(self) -> float:
        return scale(len(self.hashes), self.bound)


def scale(count: int, bound: np.uint64) -> float:
    """Says how many users there are of which so many have a hash below a bound."""
    return count if bound == ALL else count / (float(bound) / 2.0**64)
