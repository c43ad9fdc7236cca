"""Which leaves are true of a visit's values, as bits: the predicate index of plan.pxd at work.

A value's rank among the attribute's keys cuts each ordered group of leaves in two; `=`, `in` and
their negations are single leaves of the key's row. Nothing is looked at leaf by leaf except
intervals near the value and candidates among lazy leaves (clue_lookup.pxd).
"""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.predicate_index cimport AttributeIndex
from matcher_ext.values.catalog cimport CatalogTable

cdef uint32_t find_number(
    const Plan* plan, const AttributeIndex* attribute, int64_t word
) noexcept nogil
cdef uint32_t find_text(
    const Plan* plan, const AttributeIndex* attribute, const char* text, uint32_t length
) noexcept nogil
# Sets the bits of the attributes that the visit carries; notes the points of their values.
cdef void fill_carried(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
cdef void fill_missing(const Plan* plan, Scratch* scratch) noexcept nogil
