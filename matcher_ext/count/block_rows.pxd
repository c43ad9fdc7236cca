"""Counting the matches of a block of visits at once: for each part of a circuit, its rows.

The rows of which a part is true are a list, or a bitmap when they are many. Truth is sparse: most
parts are true of a hundredth of a block, most ANDs of no row at all.

  - A predicate's rows are a piece of its attribute's sorted rows: nothing is made.
  - An AND starts from the child with the fewest rows (known exactly, for predicates and answered
    nodes) and tests those rows with the other children, one by one.
  - An OR sets its children's rows in a bitmap; of one child with rows it is that child.
  - A node's answer is kept. One that an AND asks about a few rows only is tested row by row until
    that has cost as much as an answer.

Answers are kept in a pool up to `most_answers` bytes; beyond, all are forgotten before the next
expression, and made again when asked for.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.count.blocks cimport MOST_ROWS, Block
from matcher_ext.count.circuit cimport Circuit
from matcher_ext.count.rows cimport Rows
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

cdef enum Answer:               # the lower bits of a node's state
    UNANSWERED                  # above: rows that were tested one by one
    IS_EMPTY
    IS_LIST                     # above: where in the pool, in words
    IS_BITMAP

cdef enum:
    CHUNK_WORDS = 1 << 17       # of the pool
    MOST_LISTED = 96            # rows of a kept list
    FEW_TESTS = 16              # rows; a node that was tested so often is answered
    FEW_MARKED = 4              # rows; so few are tested as they are
    NOTHING_KNOWN = 0xFFFFFFFF

cdef cppclass Slices:
    """The memory of one thread that counts."""
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

# The rows of a part; unless they are lasting, in the scratch of this depth or below.
cdef void find_rows(
    Slices* slices, const uint32_t* code, uint32_t depth, Rows* found
) noexcept nogil
# Those of a node, which are kept.
cdef void answer_node(Slices* slices, uint32_t node, uint32_t depth, Rows* found) noexcept nogil


cdef inline uint16_t* list_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.lists.data() + depth * MOST_ROWS


cdef inline uint64_t* bitmap_at(Slices* slices, uint32_t depth) noexcept nogil:
    return slices.bitmaps.data() + depth * (MOST_ROWS // 64)
