"""Counting matches of many visits at once: one bit per visit, 2,048 visits in a slice.

A slice says of which visits of a block a node is true. Truth is sparse: most nodes are true of no
visit of a block, have no slice at all, and cost one look at a number.

  1. rows: each visit in typed form, and the rank of each of its values among the keys;
  2. leaves: per attribute, the visits with each key (and below each key), from which every group
     of the predicate index follows by a few operations on whole slices;
  3. nodes, children first; an AND looks at its rarest child first; lazy leaves when asked;
  4. counts: bits of each expression's slice.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.catalog cimport CatalogTable
from matcher_ext.plan cimport Plan
from matcher_ext.visit cimport Visit

cdef enum:
    ROWS = 2048
    WORDS_OF_SLICE = 32

cdef struct Slice:
    uint64_t words[32]

cdef struct Cell:               # one row's value of an attribute
    uint32_t row
    uint32_t position           # 2 * rank, plus 1 if it is that key

cdef cppclass Slices:
    """The memory of one block at a time."""
    vector[Visit] visits
    uint32_t rows
    Slice eligible
    vector[Slice] pool          # the first is empty: of no visit
    vector[uint32_t] of_leaf    # slice of a leaf; NOTHING: lazy and not asked yet
    vector[uint32_t] of_node
    vector[vector[Cell]] cells  # by attribute
    vector[Slice] carried       # by attribute
    vector[Slice] keys          # scratch of one attribute: visits with each key ..
    vector[Slice] below         # .. and below each key

cdef void open_slices(const Plan* plan, Slices* slices) noexcept nogil
# Evaluates slices.visits[: slices.rows] and adds to counts: one line per code of a row's group.
cdef void count_block(
    const Plan* plan,
    const CatalogTable* table,
    Slices* slices,
    const int64_t* groups,
    int64_t* counts,
) noexcept nogil
