"""Chooses the visits that are logged: one user in N, or one visit in N where it names no user.

A user is chosen by a hash of its id alone, so that all of its visits are there or none, in every
process, on every machine and on every day; one who is chosen of many is also chosen of fewer.
"""
from libc.stdint cimport int64_t, uint64_t

from matcher_ext.values.catalog cimport CatalogTable
from matcher_ext.visits.visit cimport Visit

# Tells whether a visit is logged. `number` tells visits of one moment apart that name no user.
cdef bint choose_visit(
    const CatalogTable* table, const Visit* visit, int64_t moment, uint64_t number, uint64_t one_in
) noexcept nogil
