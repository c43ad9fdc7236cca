"""Sets the bits of the leaves that are true of a visit's values, by the predicate index of a plan.

A value's rank among the attribute's keys cuts each ordered group of leaves in two; `=`, `in` and
their negations are single leaves of the key's row. Nothing is looked at leaf by leaf except
intervals near the value and candidates among lazy leaves (clue_lookup.pxd).
"""
from libc.stdint cimport int64_t, uint32_t

from matcher_ext.match.scratch cimport Scratch
from matcher_ext.plan.plan cimport Plan
from matcher_ext.plan.predicate_index cimport AttributeIndex
from matcher_ext.values.catalog cimport CatalogTable

# Finds the rank of the first key that is not below a number.
cdef uint32_t find_number(
    const Plan* plan, const AttributeIndex* attribute, int64_t word
) noexcept nogil
# Finds the rank of a text among the keys, or key_count.
cdef uint32_t find_text(
    const Plan* plan, const AttributeIndex* attribute, const char* text, uint32_t length
) noexcept nogil
# Sets the bits of the attributes that the visit carries; notes the points of their values.
cdef void fill_carried(
    const Plan* plan, const CatalogTable* table, Scratch* scratch
) noexcept nogil
# Sets the bits of `is missing` for the attributes that the visit does not carry.
cdef void fill_missing(const Plan* plan, Scratch* scratch) noexcept nogil
