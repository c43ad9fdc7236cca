"""How often predicates are true of a sample of visits."""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from matcher_ext.catalog cimport CatalogTable
from matcher_ext.store cimport NodeStore
from matcher_ext.visit cimport Visit

# Predicates in use by attribute; behind them, those that a visit without the attribute may meet.
cdef void group_predicates(
    const NodeStore* store, const CatalogTable* table, vector[vector[uint32_t]]* groups
) noexcept nogil
cdef void count_truths(
    const NodeStore* store,
    const CatalogTable* table,
    const vector[vector[uint32_t]]* groups,
    const Visit* visit,
    vector[uint32_t]* counts,
) noexcept nogil
