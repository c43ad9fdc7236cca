"""Writes the tables of clues (clues.pxd): by which clues each pushed lazy leaf is found.

Leaves without a clue come first among their attribute's, then plain ones, then negated ones. Where
a predicate is found by any one of its clues, the rarest is taken. The tables are read by
clue_lookup.pyx and checked by clue_checks.pyx.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.plan.predicate_index cimport ClueIndex, ClueRow

cdef cppclass Candidates:
    """The sections that clue_tables.pyx makes."""
    vector[ClueIndex] indexes           # by attribute
    vector[ClueRow] rows
    vector[uint32_t] leaves

# Ranks a lazy leaf among its attribute's, before all else: 0 without clues, 1 plain, 2 negated.
cdef uint32_t rank_clues(const Draft* draft, uint32_t predicate) noexcept nogil
# Makes the tables, after the leaves have their numbers: `starts` and `ends` say by attribute where
# its pushed lazy leaves are, `order` is the predicate of each leaf.
cdef void index_clues(
    const Draft* draft,
    const vector[uint32_t]* order,
    const vector[uint32_t]* starts,
    const vector[uint32_t]* ends,
    Candidates* made,
) noexcept nogil
