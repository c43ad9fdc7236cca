"""Blocks of visits, sorted by value for every attribute: what a circuit is evaluated over.

Each visit that counts (its required attributes are there, its group is not negative) is a *row*;
rows of one group are neighbours. For each attribute of the circuit:

    rows     r3 r0 r7 | r1 | r4 r2 ..  r3 r0 r7 | ..    in the order of their positions, twice over,
    cuts     0        3    4 ..                         so that all but an interval is one as well;
    places   of r0: 1, of r1: 3 ..                      where a row stands, or MISSING_PLACE

The rows whose value lies in an interval of positions are rows[cuts[first] : cuts[end]]: one piece,
known by two loads. A set's rows stand once for each of its elements, without places. Which rows
carry an attribute is a bitmap as well (`carriers`), and which attributes a row may carry a word
(`carried`): the marks of 4,096 rows fit the nearest cache, the places of all attributes do not.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.arrow_cells cimport Column
from matcher_ext.visits.visit cimport Visit

cdef enum:
    MOST_ROWS = 4096
    MISSING_PLACE = 0xFFFF

cdef struct Cell:               # one row's value of an attribute, or one element of its set
    uint32_t position
    uint32_t row

cdef struct Sorted:
    uint32_t count              # cells
    uint32_t rows               # the first in Block.rows
    uint32_t cuts               # the first in Block.cuts, of a set in Block.set_cuts
    uint32_t places             # the first in Block.places
    uint32_t carriers           # the first word in Block.carriers

cdef struct RowSource:          # rows of one Arrow batch
    const vector[Column]* columns
    const vector[uint32_t]* leaves
    int64_t rows
    const int64_t* groups       # by row, negative: leave out; or NULL

cdef cppclass Block:
    """The memory of one block at a time."""
    uint32_t count              # rows
    bint keeps_visits           # all of them, for what is tested one by one
    vector[Visit] visits        # by row of the batch; without keeping, one that all cells share
    vector[uint32_t] row_of     # by row of the batch, or NOTHING
    vector[uint32_t] visit_of   # by row: the row of the batch
    vector[int64_t] lines       # by row: its group; empty without groups
    vector[vector[Cell]] cells  # by attribute
    vector[Sorted] attributes
    vector[uint16_t] rows
    vector[uint16_t] cuts
    vector[uint32_t] set_cuts
    vector[uint16_t] places
    vector[uint64_t] carriers   # of each scalar attribute: a bitmap of the rows that carry it
    vector[uint16_t] all_rows
    vector[uint64_t] carried    # by row: the marks of its attributes

cdef inline uint32_t words_of(const Block* block) noexcept nogil:
    """Returns the words of a bitmap of rows, in whole cache lines."""
    return (block.count + 511) // 512 * 8

cdef inline uint64_t mark_of(uint32_t attribute) noexcept nogil:
    """Returns one bit of 64; a row without it does not carry the attribute."""
    return <uint64_t>1 << (attribute * <uint32_t>0x9E3779B1 >> 26)

# Makes room for blocks of a plan.
cdef void open_block(const Plan* plan, const CatalogTable* table, Block* block) noexcept nogil
# Fills a block with the rows first : end, at most MOST_ROWS.
cdef void read_block(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    Block* block,
) noexcept nogil
