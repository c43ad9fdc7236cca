"""Finds pushed lazy leaves (plan.pxd) by the clues of a visit's value instead of one by one.

    value --clues.pyx--> clues --table of the attribute--> candidates --tested in full--> bits

Negated leaves are all true, but for the candidates whose test says otherwise. Leaves without a
clue come first and are tested one by one: `like '?*'`, `count(s) <= n`.
"""
from libc.stdint cimport uint32_t

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.values.catalog cimport CatalogTable

# Sets the bits of an attribute's pushed lazy leaves.
cdef void fill_lazy(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t attribute
) noexcept nogil
