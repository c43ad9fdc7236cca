"""Counts many visits in the way that is faster for this index and this many visits.

Few visits are matched one at a time; many are counted block by block (blocks.pxd, block_rows.pxd).
How long either takes is measured on the way, and the choice follows the measurements. Both ways
give the same counts.

Blocks need the graph and the circuit first, seconds for a million expressions. So visits of a large
index are matched one by one until that has taken as long as the making would; then blocks are tried
on a few rows. Whoever counts one batch does not pay for what only many batches earn back.

Memory. Beside the mapped index and the answer, counting keeps within `working_bytes`, whatever the
size of index and batch: blocks have fewer rows where visits are wide, answers are forgotten where
they do not fit, and a circuit that does not fit is written and run piece by piece.
"""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from matcher_ext.count.blocks cimport Block, RowSource
from matcher_ext.count.circuit cimport Circuit
from matcher_ext.count.slices cimport Slices
from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

cdef enum:
    VISITS_AT_ONCE = 64         # read from a batch, where visits need not be kept

cdef cppclass Counter:
    """The memory of one thread that counts, and what it measured."""
    Block block
    Slices slices
    vector[Visit] visits
    double single_ns            # a visit, or 0
    double sliced_ns            # a full block, or 0
    double spent_ns             # in matching one by one

cdef void open_counter(const Plan* plan, const CatalogTable* table, Counter* counter) noexcept nogil
# Swaps two visits, which lends one to a scratch without copying it.
cdef void exchange_visits(Visit* a, Visit* b) noexcept nogil
# Matches rows first : end one by one.
cdef void count_singly(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    Scratch* scratch,
    Counter* counter,
    int64_t* counts,
) noexcept nogil
# Says whether `rows` visits are faster counted in blocks; without a circuit, one must be made
# first.
cdef bint is_worth_slicing(
    const Plan* plan, const Counter* counter, int64_t rows, bint has_circuit
) noexcept nogil
# Says how many rows to count in blocks before asking again: few of them on trial, or all.
cdef int64_t rows_of_trial(const Plan* plan, const Counter* counter, int64_t rows) noexcept nogil
# Says how many words of a circuit are within a working memory.
cdef size_t most_circuit_words(int64_t working_bytes) noexcept nogil
# Counts rows first : end block by block.
cdef void count_sliced(
    const Plan* plan,
    const CatalogTable* table,
    const RowSource* source,
    int64_t first,
    int64_t end,
    const Circuit* circuit,
    Counter* counter,
    int64_t working_bytes,
    int64_t* counts,
) noexcept nogil
