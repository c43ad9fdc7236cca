"""Pushed lazy leaves (plan.pxd), found by the clues of a visit's value instead of one by one.

    value --clues.pyx--> clues --table of the attribute--> candidates --tested in full--> bits

Negated leaves are all true, but for the candidates whose test says otherwise. Leaves without a
clue come first and are tested one by one: `like '?*'`, `count(s) <= n`.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.freeze.draft cimport Draft
from matcher_ext.match.leaf_bits cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.predicate_index cimport ClueIndex, ClueRow
from matcher_ext.values.catalog cimport CatalogTable

cdef cppclass Candidates:
    """The sections that candidates.pyx makes."""
    vector[ClueIndex] indexes           # by attribute
    vector[ClueRow] rows
    vector[uint32_t] leaves

# The place of a lazy leaf among its attribute's, before all else: 0 without clues, 1, 2 negated.
cdef uint32_t rank_clues(const Draft* draft, uint32_t predicate) noexcept nogil
# After the leaves have their numbers: `starts` says where each attribute's pushed lazy leaves are,
# `ends` where they end; `order` is the predicate of each leaf.
cdef void index_clues(
    const Draft* draft,
    const vector[uint32_t]* order,
    const vector[uint32_t]* starts,
    const vector[uint32_t]* ends,
    Candidates* made,
) noexcept nogil
# Sets the bits of an attribute's pushed lazy leaves.
cdef void fill_lazy(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute
) noexcept nogil
# What is wrong, or NULL.
cdef const char* check_clues(const Plan* plan) noexcept nogil
