"""Adds the leaves of an OR to a bitmap of a block's rows (block_rows.pxd).

A leaf that nearly all of an attribute's rows are true of is *wide*: all that carry the attribute,
but a few. Wide leaves come first: a bitmap begins as a copy of the first one's carriers, and words
that were just set bit by bit are slow to read whole (8 % of all counting on s1m).
"""
from libc.stdint cimport uint32_t, uint64_t

from matcher_ext.count.slices cimport Slices

# Begins the bitmap with the leaves that an OR counts; returns what stands behind them.
cdef const uint32_t* add_leaves(
    const Slices* slices, const uint32_t* code, uint64_t* bits
) noexcept nogil
