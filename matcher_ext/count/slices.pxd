"""The memory of one thread that counts blocks, and nothing that is done with it.

A node's *state* says what is known of its rows in the present block: not yet answered, and then how
many rows were tested one by one; or where in the pool its answer is kept (kept_answers.pxd).
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.count.blocks cimport MOST_ROWS, Block
from matcher_ext.count.circuit cimport Circuit
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

cdef enum Answer:               # the lower bits of a node's state
    UNANSWERED                  # above: rows that were tested one by one
    IS_EMPTY
    IS_LIST                     # above: where in the pool, in words
    IS_BITMAP

cdef enum:
    CHUNK_WORDS = 1 << 17       # of the pool

cdef cppclass Slices:
    const Plan* plan
    const CatalogTable* table
    const Circuit* circuit
    Block* block
    uint32_t words              # of a bitmap
    vector[uint32_t] states     # by node: Answer | .. << 2
    vector[vector[uint64_t]] pool   # chunks: count; rows
    size_t used                 # words
    size_t most_answers         # bytes
    vector[uint16_t] lists      # scratch, by depth of the recursion
    vector[uint64_t] bitmaps
    vector[uint64_t] marks      # scratch, empty between uses
    vector[uint16_t] tallies    # by expression of the circuit: its rows in the block

cdef inline uint16_t* list_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.lists.data() + depth * MOST_ROWS

cdef inline uint64_t* bitmap_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.bitmaps.data() + depth * (MOST_ROWS // 64)
