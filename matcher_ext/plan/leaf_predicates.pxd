"""Reads predicates back out of the predicate index: the inverse of leaves.pyx."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.values.predicate cimport Predicate

# Fills the predicates of all leaves, by number, and their words.
cdef void thaw_predicates(
    const Plan* plan,
    const CatalogTable* table,
    vector[Predicate]* predicates,
    vector[int64_t]* words,
) noexcept nogil
