"""Counts common rows of pairs of entries (overlaps.pxd)."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from matcher_ext.columns.table_format cimport Block
from matcher_ext.machine.keeping cimport add_number, fill_vector
from matcher_ext.machine.links cimport NOTHING
from matcher_ext.tables.asking cimport Asker, ask_entry, open_block, take_rows
from matcher_ext.tables.kernels cimport count_both, count_rows
from matcher_ext.tables.questions cimport Question


cdef cppclass Publisher:
    """Bitmaps of all entries that are eligible for something in a run of blocks."""
    vector[uint32_t] entries        # gated ones, then those of no publisher
    uint32_t gated
    uint32_t first                  # blocks
    uint32_t end
    size_t words
    vector[uint64_t] rows           # [entry][word]
    vector[int64_t] visits          # by entry


cdef int gather(Asker* asker, Publisher* here) except -1 nogil:
    """Asks all entries over the publisher's blocks."""
    cdef const Block* blocks = asker.table.blocks
    cdef const uint64_t* rows
    cdef uint64_t* out
    cdef uint32_t block
    cdef size_t i, at = 0
    for block in range(here.first, here.end):
        open_block(asker, block)
        out = take_rows(asker)
        for i in range(here.entries.size()):
            rows = ask_entry(asker, &asker.question.entries[here.entries[i]], out)
            if rows != asker.zero:
                memcpy(here.rows.data() + i * here.words + at, rows, 8 * <size_t>asker.words)
                here.visits[i] += blocks[block].weight * (
                    <int64_t>count_rows(rows, asker.words)
                )
        at += blocks[block].words
    return 0


cdef int open_publisher(Asker* asker, Publisher* here, uint32_t first) except -1 nogil:
    cdef const Block* blocks = asker.table.blocks
    cdef const Question* question = asker.question
    cdef uint32_t by = blocks[first].by
    cdef uint32_t i
    here.first = first
    here.end = first
    here.words = 0
    here.entries.clear()
    while here.end < asker.table.block_count and blocks[here.end].by == by:
        here.words += blocks[here.end].words
        here.end += 1
    if by != NOTHING:
        for i in range(question.gate_starts[by], question.gate_starts[by + 1]):
            here.entries.push_back(question.gated[i])
    here.gated = <uint32_t>here.entries.size()
    for i in range(<uint32_t>question.ungated.size()):
        here.entries.push_back(question.ungated[i])
    fill_vector(here.rows, here.entries.size() * here.words, 0)
    fill_vector(here.visits, here.entries.size(), 0)
    return 0


cdef int64_t count_pair(
    Asker* asker, const Publisher* here, size_t one, size_t other
) noexcept nogil:
    cdef const uint64_t* a = here.rows.data() + one * here.words
    cdef const uint64_t* b = here.rows.data() + other * here.words
    cdef int64_t visits = 0
    cdef uint32_t block, words
    for block in range(here.first, here.end):
        words = asker.table.blocks[block].words
        visits += asker.table.blocks[block].weight * <int64_t>count_both(a, b, words)
        a += words
        b += words
    return visits


cdef int add_pairs(
    Asker* asker, const Publisher* here, int64_t support, vector[Common]* found,
    unordered_map[uint64_t, int64_t]* wide,
) except -1 nogil:
    """Counts pairs; those of two entries of no publisher go on at the next."""
    cdef int64_t visits
    cdef size_t i, k
    for i in range(here.entries.size()):
        if here.visits[i] == 0 or i < here.gated and here.visits[i] < support:
            continue
        for k in range(i, here.entries.size()):     # with itself: it may have several ids
            if here.visits[k] == 0 or i < here.gated and here.visits[k] < support:
                continue
            visits = count_pair(asker, here, i, k)
            if i >= here.gated:
                if visits:
                    add_number(
                        wide[0], <uint64_t>here.entries[i] << 32 | here.entries[k], visits
                    )
            elif visits >= support:
                found.push_back(Common(visits, here.entries[i], here.entries[k]))
    return 0


cdef int find_common(Asker* asker, int64_t support, vector[Common]* found) except -1 nogil:
    cdef Publisher here
    cdef unordered_map[uint64_t, int64_t] wide
    cdef uint32_t block = 0
    while block < asker.table.block_count:
        open_publisher(asker, &here, block)
        gather(asker, &here)
        add_pairs(asker, &here, support, found, &wide)
        block = here.end
    for item in wide:
        if item.second >= support:
            found.push_back(
                Common(item.second, <uint32_t>(item.first >> 32), <uint32_t>item.first)
            )
    return 0
