"""One visit against a plan: which roots its keys find, and which of them are true.

A Scratch is the memory of one call at a time; several threads match on one plan, each with its
own. Truths are remembered per node with the number of the visit (the paper's lazy clearing by
event signature), so a shared node or definition is evaluated at most once per visit.
"""
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from matcher_ext.arena cimport Truth
from matcher_ext.catalog cimport CatalogTable
from matcher_ext.plan cimport Plan
from matcher_ext.visit cimport Visit

cdef cppclass Scratch:
    Visit visit
    vector[uint32_t] truths     # by node: signature * 4 + Truth
    vector[uint32_t] asked      # by root: signature of the last visit that looked at it
    uint32_t signature
    vector[uint32_t] matched    # roots

cdef void open_scratch(const Plan* plan, Scratch* scratch) noexcept nogil
# Matches scratch.visit; the true roots are left in scratch.matched.
cdef void match_visit(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
cdef Truth evaluate(
    const Plan* plan, const CatalogTable* table, Scratch* scratch, uint32_t node
) noexcept nogil
cdef size_t count_ids(const Plan* plan, const Scratch* scratch) noexcept nogil
cdef void copy_ids(const Plan* plan, const Scratch* scratch, int64_t* target) noexcept nogil
