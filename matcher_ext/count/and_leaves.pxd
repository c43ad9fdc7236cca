"""Finds what the leaves of an AND leave of a block's rows (block_rows.pxd).

The leaf with the fewest rows is where an AND starts; its rows are then asked for the attributes of
the others, by their marks first, which err on the side of keeping a row, then by bitmaps.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from matcher_ext.count.slices cimport Slices

cdef enum:
    NO_PIECE = 0xFFFFFFFF
    NOTHING_KNOWN = 0xFFFFFFFF

cdef struct Start:              # of an AND: its child with the fewest rows
    const uint32_t* child
    uint32_t count              # NOTHING_KNOWN: of none it is known how many
    uint32_t first              # of its piece of rows; NO_PIECE: its rows must be found
    uint64_t carried            # marks of the leaves: a row that is true of all has them

# Looks at the leaves that an AND counts, up to one without rows. Returns what stands behind.
cdef const uint32_t* consider_leaves(
    const Slices* slices, const uint32_t* code, Start* start
) noexcept nogil

# Keeps the rows of a list that carry the attributes of all leaves but one.
cdef uint32_t filter_by_carriers(
    const Slices* slices, const uint32_t* code, const uint32_t* but, uint16_t* list_,
    uint32_t count,
) noexcept nogil

# Keeps the rows of a list that a C_RANGE to C_WIDE_OUTSIDE is true of.
cdef uint32_t filter_by_range(
    const Slices* slices, uint16_t* list_, uint32_t count, const uint32_t* code
) noexcept nogil


cdef inline void consider_count(
    const uint32_t* code, uint32_t count, Start* start
) noexcept nogil:
    if count < start.count:
        start.count = count
        start.first = NO_PIECE
        start.child = code


cdef inline uint32_t filter_by_marks(
    const Slices* slices, const uint16_t* list_, uint32_t count, uint64_t marks, uint16_t* target
) noexcept nogil:
    """Keeps the rows that may carry all attributes; settles most ANDs within the nearest cache."""
    cdef const uint64_t* carried = slices.block.carried.data()
    cdef uint32_t kept = 0, i
    for i in range(count):
        target[kept] = list_[i]
        kept += marks & ~carried[list_[i]] == 0
    return kept
